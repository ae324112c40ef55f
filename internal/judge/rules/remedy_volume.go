package rules

import (
	"fmt"
	"math"
	"time"
)

// What EBS allows: a volume is modified again once the last change is completed, and four times in a
// rolling 24 hours (EC2 API, ModifyVolume). A gp3 has at most 80,000 IOPS and 2,000 MiB/s, and 0.25
// MiB/s for each IOPS.
const (
	gp3MostIOPS    = 80000
	gp3MostMiBs    = 2000
	gp3FreeIOPS    = 3000
	gp3FreeMiBs    = 125
	gp3IOPSPrice   = 0.005
	gp3MiBsPrice   = 0.04
	gp3MiBsPerIOPS = 0.25
	stepIOPS       = 500
	stepMiBs       = 25
	// asMeasured is how far a plateau may be above its limit.
	asMeasured = 0.005
)

const (
	volumeID     = `{{ask .volume "VOLUME" "the id of the volume, vol-..."}}`
	claimsVolume = `VOLUME=$(kubectl get pv "$(kubectl get pvc{{with .namespace}} -n {{q .}}{{end}} {{ask .claim "CLAIM" "the volume claim of the database"}} -o jsonpath='{.spec.volumeName}')" -o jsonpath='{.spec.csi.volumeHandle}'); echo "$VOLUME"`
	showVolume   = ` --query 'Volumes[0].[VolumeType,Size,Iops,Throughput]' --output text`
	lastChange   = ` --query 'VolumesModifications[0].[ModificationState,Progress,StartTime]' --output text`
	ownCloud     = "The commands are for EBS. Elsewhere, order the same figures of the provider: az disk update, gcloud compute disks update."
	instanceToo  = "The instance has a limit of its own: aws ec2 describe-instance-types shows it under EbsInfo. More than that buys nothing."
	fourADay     = "EBS takes the next change of a volume when this one is completed, and four in 24 hours: the undo waits for that, too."
	showInstance = `aws rds describe-db-instances --db-instance-identifier {{ask .instance "DB" "the identifier of the instance"}} --query 'DBInstances[0].[StorageType,AllocatedStorage,Iops,StorageThroughput,DBInstanceStatus]' --output text`
)

// modifyVolume are the ways to change a volume online: order and back are options of modify-volume,
// rds and rdsBack those of modify-db-instance.
func modifyVolume(order, back, rds, rdsBack string, notes ...string) []Recipe {
	on := func(volume string) Recipe {
		return Recipe{
			Look:  Tool(`aws ec2 describe-volumes --volume-ids `+volume+showVolume, `aws ec2 describe-volumes-modifications --volume-ids `+volume+lastChange),
			Do:    Tool(`aws ec2 modify-volume --volume-id ` + volume + ` ` + order),
			Check: Tool(`aws ec2 describe-volumes-modifications --volume-ids ` + volume + lastChange),
			Undo:  Tool(`aws ec2 modify-volume --volume-id ` + volume + ` ` + back),
			Kept:  "it lasts",
			Notes: append([]string{fourADay}, notes...),
		}
	}
	host, kube := on(volumeID), on(`"$VOLUME"`)
	host.Places, kube.Places = []Place{Host, Docker}, []Place{Kubernetes}
	kube.Look = append(Tool(claimsVolume), kube.Look...)
	kube.Notes = append(kube.Notes, "The claim's class does not know of it: order new volumes the same way, by a StorageClass or a VolumeAttributesClass.")
	managed := Recipe{Places: []Place{Managed}, None: "the provider sells its own sizes"}
	database := Recipe{Places: []Place{RDS}, None: "RDS sets this by its storage type: change that in a maintenance window"}
	if rds != "" {
		database = Recipe{Places: []Place{RDS},
			Look:  Tool(showInstance),
			Do:    Tool(`aws rds modify-db-instance --db-instance-identifier {{ask .instance "DB" "the identifier of the instance"}} ` + rds + ` --apply-immediately`),
			Check: Tool(showInstance),
			Undo:  Tool(`aws rds modify-db-instance --db-instance-identifier {{ask .instance "DB" "the identifier of the instance"}} ` + rdsBack + ` --apply-immediately`),
			Kept:  "it lasts",
			Notes: []string{"The instance is in the state storage-optimization for hours, and its storage cannot be changed again meanwhile. Below 400 GiB gp3 has the baseline only."}}
	}
	return []Recipe{host, kube, database, managed}
}

const (
	wasIOPS = `"${OLD_IOPS:?the IOPS that the first command showed}"`
	wasMiBs = `"${OLD_MIBS:?the MiB/s that the first command showed}"`
)

// theVolume is what all of them change: EBS takes one change at a time, and no source reports it.
var theVolume = []string{"volume"}

var raiseIOPS = &Remedy{
	Name: "raise-iops", Title: "Raise the volume's IOPS",
	Relieves: []Resource{VolumeIOPS},
	Recipes:  modifyVolume(`--iops {{.iops}}`, `--iops `+wasIOPS, `--iops {{.iops}}`, `--iops `+wasIOPS, instanceToo, ownCloud),
	Money:    gp3Money, Wait: 30 * time.Minute, Until: "the change is optimizing or completed",
	Raises: []string{"iops", "throughput"}, Settings: theVolume, Size: sizeVolume, Example: Values{"iops": "6000", "dollars": "15"},
}

var raiseThroughput = &Remedy{
	Name: "raise-throughput", Title: "Raise the volume's throughput",
	Relieves: []Resource{VolumeThroughput},
	Recipes:  modifyVolume(`--throughput {{.mibs}}`, `--throughput `+wasMiBs, `--storage-throughput {{.mibs}}`, `--storage-throughput `+wasMiBs, instanceToo, ownCloud),
	Money:    gp3Money, Wait: 30 * time.Minute, Until: "the change is optimizing or completed",
	Raises: []string{"iops", "throughput"}, Settings: theVolume, Size: sizeVolume, Example: Values{"mibs": "250", "dollars": "5.00"},
}

var raiseBoth = &Remedy{
	Name: "raise-both", Title: "Raise the volume's IOPS and throughput together",
	Relieves: []Resource{VolumeIOPS, VolumeThroughput},
	Recipes: modifyVolume(`--iops {{.iops}} --throughput {{.mibs}}`, `--iops `+wasIOPS+` --throughput `+wasMiBs,
		`--iops {{.iops}} --storage-throughput {{.mibs}}`, `--iops `+wasIOPS+` --storage-throughput `+wasMiBs, instanceToo, ownCloud),
	Money: gp3Money, Wait: 30 * time.Minute, Until: "the change is optimizing or completed",
	Raises: []string{"iops", "throughput"}, Settings: theVolume, Size: sizeVolume, Example: Values{"iops": "6000", "mibs": "250", "dollars": "20"},
}

const gp3Money = "about USD {{.dollars}} a month if it is a gp3 (us-east-1)"

// sizeVolume doubles the cap that binds. What a burst needs is not known before it is served.
func sizeVolume(_ *Case, f *Finding) Values {
	iops, mibs := 2.0*gp3FreeIOPS, 2.0*gp3FreeMiBs
	dollars := 0.0
	if f.Cap != nil && f.Cap.IOPS > 0 {
		iops = min(gp3MostIOPS, math.Ceil(2*f.Cap.IOPS*(1-asMeasured)/stepIOPS)*stepIOPS)
		dollars += (iops - max(gp3FreeIOPS, f.Cap.IOPS)) * gp3IOPSPrice
	}
	if f.Cap != nil && f.Cap.Throughput > 0 {
		mibs = min(gp3MostMiBs, math.Ceil(2*f.Cap.Throughput*(1-asMeasured)/mib/stepMiBs)*stepMiBs)
		dollars += max(0, mibs-max(gp3FreeMiBs, f.Cap.Throughput/mib)) * gp3MiBsPrice
	}
	if most := iops * gp3MiBsPerIOPS; mibs > most {
		mibs = most
	}
	return Values{"iops": Value(fmt.Sprintf("%.0f", max(iops, gp3FreeIOPS))), "mibs": Value(fmt.Sprintf("%.0f", max(mibs, gp3FreeMiBs))), "dollars": Number(max(0, dollars)), "volume": volumeOf(f)}
}

// volumeOf is the id of an EBS volume that a finding is about; "" if it is about a device.
func volumeOf(f *Finding) Value {
	if len(f.Subject) > 4 && f.Subject[:4] == "vol-" {
		return Called(f.Subject)
	}
	return ""
}

// toGP3 replaces a volume with credits by one without, if it is one: a ceiling that fell may be the
// instance's. A gp3 without options has 3,000 IOPS and 125 MiB/s, less than a gp2 of over 1,000 GiB
// or of over 170 GiB has, so both are ordered as the gp2 had them.
var toGP3 = &Remedy{
	Name: "gp3", Title: "Change a gp2 volume to gp3, which has no credits",
	Relieves: []Resource{VolumeIOPS, VolumeThroughput},
	Recipes:  gp3Recipes(),
	Money:    "less than gp2: USD 0.08 instead of 0.10 for each GB a month, and USD 5 for 250 MiB/s (us-east-1)",
	Wait:     30 * time.Minute, Until: "the change is optimizing or completed",
	Raises: []string{"iops", "throughput"}, Settings: theVolume,
	Size: func(_ *Case, f *Finding) Values { return Values{"volume": volumeOf(f)} },
}

func gp3Recipes() []Recipe {
	const order = `--volume-type gp3 --iops "$((SIZE * 3 > 16000 ? 16000 : SIZE * 3 > 3000 ? SIZE * 3 : 3000))" --throughput "$((SIZE > 170 ? 250 : 125))"`
	out := modifyVolume(order, `--volume-type gp2`, "", "", ownCloud)
	for i := range out {
		r := &out[i]
		if r.None != "" {
			continue
		}
		volume := volumeID
		if r.Places[0] == Kubernetes {
			volume = `"$VOLUME"`
		}
		describe := `$(aws ec2 describe-volumes --volume-ids ` + volume + ` --query 'Volumes[0].`
		r.Look = append(r.Look, Tool(`TYPE=`+describe+`VolumeType' --output text); SIZE=`+describe+`Size' --output text); echo "$TYPE, $SIZE GiB"`)...)
		r.Do[0].Text = `[ "$TYPE" = gp2 ] && ` + r.Do[0].Text
	}
	return out
}
