package emit

import (
	"fmt"
	"strconv"
	"strings"
)

// A rental describes how a provider's command line creates machines. In each text, NAME is the name of
// the machines, TYPE their type and COUNT their number.
type rental struct {
	look   string // shows the account, and whether the machines exist already
	found  string // prints those that exist, and nothing if there are none
	create string
	undo   string
	keeps  string // what the undo leaves behind
}

// rentals are the providers' commands (the references of aws, gcloud and az, 2026).
var rentals = map[string]rental{
	"aws": {
		look: "aws sts get-caller-identity --output text --query '[Account,Arn]'",
		found: "aws ec2 describe-instances --filters Name=tag:Name,Values=NAME Name=instance-state-name,Values=pending,running,stopping,stopped " +
			"--query 'Reservations[].Instances[].[InstanceId,InstanceType,Placement.AvailabilityZone,LaunchTime]' --output text",
		create: `aws ec2 run-instances --instance-type TYPE --count COUNT --image-id "${IMAGE:?id of an AMI}" --subnet-id "${SUBNET:?id of a subnet}" --key-name "${KEY:?name of a key pair}" --tag-specifications 'ResourceType=instance,Tags=[{Key=Name,Value=NAME}]' --query 'Instances[].InstanceId' --output text`,
		undo:   `aws ec2 terminate-instances --instance-ids ${INSTANCES:?the ids that look shows}`,
		keeps:  "volumes that were attached later stay, and cost money",
	},
	"gcp": {
		look:   "gcloud config get-value project",
		found:  "gcloud compute instances list --filter 'name~^NAME-[0-9]+$' --format 'value(name,zone.basename(),machineType.basename(),creationTimestamp)'",
		create: `gcloud compute instances create $(seq -f 'NAME-%g' COUNT) --machine-type TYPE --zone "${ZONE:?such as us-central1-a}" --image-family debian-12 --image-project debian-cloud`,
		undo:   `gcloud compute instances delete ${MACHINES:?the names that look shows} --zone "${ZONE:?}"`,
		keeps:  "disks that were attached later stay, and cost money",
	},
	"azure": {
		look:   `az account show --query '[name,id]' --output tsv`,
		found:  `az vm list --resource-group "${RESOURCE_GROUP:?}" --query "[?starts_with(name, 'NAME')].[name,hardwareProfile.vmSize,provisioningState]" --output tsv`,
		create: `az vm create --resource-group "${RESOURCE_GROUP:?}" --name NAME --count COUNT --size TYPE --image Debian:debian-12:12-gen2:latest --zone "${ZONE:?such as 1}"`,
		undo:   `az vm delete --resource-group "${RESOURCE_GROUP:?}" --name "${MACHINE:?a name that look shows}"`,
		keeps:  "disks, network interfaces and addresses stay, and cost money",
	},
}

// machines returns how to create the machines of a new deployment, on which the files are then used,
// and how to delete them.
func (l *Transition) machines() (first, back string) {
	t := l.After.Instance()
	if t == nil {
		return "First set up the machines: each with the memory and the cores of the scenario.", ""
	}

	n := l.After.MemberCount()
	with := strings.NewReplacer("NAME", l.slug(), "TYPE", t.Spelling(), "COUNT", strconv.Itoa(n))
	if n == 1 {
		with = strings.NewReplacer("NAME", l.slug(), "TYPE", t.Spelling(), " --count COUNT", "", "COUNT", "1")
	}

	r := rentals[t.Of()]
	found := with.Replace(r.found)
	first = fmt.Sprintf("First create the machines, %d of type %s, and install the engine on them. They cost money from then on. On Kubernetes, create a node pool of that type. "+
		"The first lines show the account and which of the machines exist; the last one creates them only if none does. The files need their ids, which the first lines show afterwards:\n\n"+
		"    %s\n    %s\n\n    FOUND=$(%[4]s) && test -z \"$FOUND\" && %s",
		n, t.Spelling(), r.look, found, with.Replace(r.create))
	back = fmt.Sprintf("Last, if nothing on the machines is needed any more: this **deletes them with the disks that they were created with**; %s.\n\n    %s\n\n    %s",
		r.keeps, found, with.Replace(r.undo))
	return first, back
}
