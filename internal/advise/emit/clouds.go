package emit

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"plimsoll/internal/model/catalog"
)

// The scripts for disks: the common part, and the commands of each provider.
var (
	//go:embed cloud.bash
	cloudScript string
	//go:embed aws.bash
	awsScript string
	//go:embed gcp.bash
	gcpScript string
	//go:embed azure.bash
	azureScript string
)

// A cloud is a provider whose command line changes disks, in the words of its script.
type cloud struct {
	provider string
	about    string
	commands string // shell functions that call its command line
	needs    string // environment variables, one per line
	also     string // about further ones
	disk     string // a shell variable for a disk to change
	disks    string // the suffix of the environment variables with these disks
	named    string // what such a variable has
	which    string // of the disks
	machine  string // the same for a machine that gets new disks
	machines string
	whose    string
	applied  string // how apply behaves
	look     string // how to see a disk
	limits   string // on how often a disk can be changed
}

const again = "You can run it again: it skips what is already done, and checks everything before it changes anything."

var clouds = []cloud{
	{provider: "aws", about: "Commands of the AWS CLI for EBS volumes.", commands: "\n" + awsScript,
		also: "# and those of the AWS CLI: AWS_PROFILE, AWS_REGION.\n",
		disk: "id", disks: "_VOLUMES", named: "ids of the volumes", which: " to modify",
		machine: "instance", machines: "INSTANCES", whose: "ids of the instances",
		applied: "You can run it again: it skips what is already done. Before it changes anything, it checks everything, and refuses a volume whose last modification is not completed.",
		look:    "`aws ec2 describe-volumes-modifications --filters Name=volume-id,Values=VOLUME` shows the progress of a modification. In the state *optimizing*, performance is at least the old one but may not reach the new one: compare only after it says *completed*.",
		limits:  "EBS optimizes a modified volume for minutes to a day, a full 1 TiB volume for about six hours, with performance between the old and the new (Amazon EBS user guide, \"Monitor the progress of volume modifications\"). Until then it cannot be modified again, and it can be modified at most four times in 24 hours (EC2 API, ModifyVolume)"},
	{provider: "gcp", about: "Commands of gcloud for Google Cloud's disks.", commands: "\n" + gcpScript,
		needs: "#   ZONE             the zone of the machines and their disks\n",
		disk:  "disk", disks: "_DISKS", named: "names of the disks",
		machine: "machine", machines: "MACHINES", whose: "names of the machines",
		applied: again, look: "`gcloud compute disks describe DISK --zone ZONE` shows a disk.",
		limits: "a Hyperdisk's size, IOPS and throughput can be changed once every four hours (Google Cloud documentation, \"Hyperdisk\"): change all of them in one step, as the script does; an undo has to wait too"},
	{provider: "azure", about: "Commands of the Azure CLI for managed disks.", commands: "\n" + azureScript,
		needs: "#   RESOURCE_GROUP   the resource group of the machines and their disks\n",
		disk:  "disk", disks: "_DISKS", named: "names of the disks",
		machine: "machine", machines: "MACHINES", whose: "names of the machines",
		applied: again, look: "`az disk show --resource-group GROUP --name DISK` shows a disk.",
		limits: "IOPS and throughput of Premium SSD v2 and Ultra Disks can be changed four times in 24 hours, and creating a Premium SSD v2 counts as one; a change of an Ultra Disk takes up to an hour, and fails if Azure has no capacity for it (Azure documentation, managed disk types)"},
}

// kinds are the providers' names of products that have a different name in the catalogue.
var kinds = map[string]string{
	"hyperdisk-balanced-ha": "hyperdisk-balanced-high-availability",
	"premium-v2":            "PremiumV2_LRS", "ultra": "UltraSSD_LRS", "premium-ssd": "Premium_LRS",
	"standard-ssd": "StandardSSD_LRS", "standard-hdd": "Standard_LRS",
}

// sold returns the provider's name of the volume's type.
func (s *spec) sold() string {
	if name := kinds[s.kind]; name != "" {
		return name
	}
	return s.kind
}

// figures returns a volume's arguments for a script's functions: type, GiB, IOPS, throughput; 0 for those
// not chosen.
func (s *spec) figures() string { return fmt.Sprintf("%s %d %d %d", s.sold(), s.gib, s.iops, s.rate) }

// write writes the script. It changes disks in use, and creates and attaches new ones, with the verbs
// look, apply, check and undo.
func (c *cloud) write(transition *Transition, o *Options) (*Part, error) {
	part := &Part{}
	var steps, ids strings.Builder
	variable := func(name, has string) { fmt.Fprintf(&ids, "#   %-16s %s\n", name, has) }

	fresh := false
	for _, disk := range transition.disks {
		// No script deletes a volume: that is left to the operators.
		if disk.action == removed {
			continue
		}

		// With several targets, another one may carry out this change.
		if err := disk.carries(c.provider); err != nil {
			if o.Skip {
				continue
			}
			return nil, err
		}

		part.Applies = append(part.Applies, disk.path)
		fmt.Fprintf(&steps, "\n# %s\n", disk.why())
		if disk.action == modified {
			name := strings.ToUpper(strings.ReplaceAll(disk.name, "-", "_")) + c.disks
			variable(name, fmt.Sprintf("%s %q of each machine%s, separated by spaces%s", c.named, disk.name, c.which,
				ofStripe(disk.after.width)))
			fmt.Fprintf(&steps, "for %s in ${%s:?%s %s}; do\n\tmodified \"$%s\" %s  %s\n", c.disk, name, c.named,
				disk.name, c.disk, disk.before.figures(), disk.after.figures())

			// Caching and bursting need separate commands, and downtime.
			if disk.recached {
				fmt.Fprintf(&steps, "\tcached \"$disk\" %s %s\n", disk.before.hostCaching(), disk.after.hostCaching())
				part.Restarts = append(part.Restarts, disk.path+": "+cachingRestart)
			}

			if disk.switched {
				fmt.Fprintf(&steps, "\tbursting \"$disk\" %t %t\n", disk.before.bursting, disk.after.bursting)
				part.Restarts = append(part.Restarts,
					disk.path+": each machine has to be deallocated, or its disk detached, to turn on-demand bursting on.")
			}

			steps.WriteString("done\n")
			continue
		}

		fresh = true
		c.begin(&steps)
		for n := 1; n <= disk.after.width; n++ {
			has := c.fresh(&steps, transition, &disk, n)
			if disk.after.snapshot { // only the operators know it
				variable(disk.snapshotOf(n, strings.ToUpper)+"_SNAPSHOT", has)
			}
		}
		steps.WriteString("done\n")
		part.Apply = append(part.Apply, transition.arrival(&disk))
	}

	stops := c.provider == "aws" && transition.awsMachine(part, c, &steps)
	if steps.Len() == 0 {
		return nil, nil
	}

	// Only these need the machines: existing disks are found by their own names.
	if fresh || stops {
		variable(c.machines, c.whose+" that run the database, separated by spaces")
	}

	file := c.provider + "/volumes.sh"
	text := "#!/bin/bash\n" + transition.Head("#", c.about, "", "It reads these environment variables:") +
		c.needs + ids.String() + c.also +
		"# It has four verbs: look, apply, check, undo; apply and undo accept --dry-run.\nset -euo pipefail\n\n" +
		withFunctions(cloudScript) + c.commands + "layout() {" + indented(steps.String()) +
		"}\n\nmain \"$@\"\n"

	part.Files = []File{{Path: file, Text: []byte(text), Mode: executable}}
	part.describe(file, c.needs+ids.String(), c.applied, c.look, fresh)
	part.Risks = append(part.Risks, transition.risks(c.provider)...)

	return part, nil
}

// begin begins a loop over the machines.
func (c *cloud) begin(steps *strings.Builder) {
	fmt.Fprintf(steps, "for %s in ${%s:?%s}; do\n", c.machine, c.machines, c.whose)
}

// fresh writes the line that creates and attaches one member of a volume's stripe. It returns what the
// variable with its snapshot has.
func (c *cloud) fresh(steps *strings.Builder, l *Transition, d *disk, n int) (snapshot string) {
	// The name must be unique per machine, and stable, so that a second run finds the disk.
	name := l.slug() + "-" + d.name
	if d.after.width > 1 {
		name += fmt.Sprintf("-%d", n)
	}

	line := fmt.Sprintf("fresh \"$%s\" \"$%s-%s\" %s", c.machine, c.machine, name, d.after.figures())
	if d.after.caching != "" {
		line = "caching=" + d.after.hostCaching() + " " + line
	}

	if d.after.bursting {
		line += " --enable-bursting true"
	}

	if d.after.snapshot {
		line += fmt.Sprintf(" \"${%s_SNAPSHOT:?id of the snapshot for %s}\" %d", d.snapshotOf(n, strings.ToUpper), d.name,
			d.after.fetch)
	}

	steps.WriteString("\t" + line + "\n")

	// apply sets the caching with the attachment; check verifies it separately.
	if d.after.caching != "" {
		fmt.Fprintf(steps, "\t[[ $verb != check ]] || cached \"$machine-%s\" None %s\n", name, d.after.hostCaching())
	}

	return fmt.Sprintf("id of the snapshot to create the volume %q from%s", d.name, numbered(n, d.after.width))
}

// describe adds the README's text on a script with the verbs look, apply, check and undo. needs are the
// lines of its header that name its variables, applied describes how apply behaves, and shown is
// another way to see the result.
func (p *Part) describe(file, needs, applied, shown string, fresh bool) {
	export := "export"
	for line := range strings.Lines(needs) {
		export += " " + strings.Fields(line)[1] + "="
	}

	p.Apply = append(
		[]string{"Set the variables that the script needs; its header explains each. `look` shows the account and the current disks, `--dry-run` what the script would do:\n\n    " +
			export + "\n    " +
			file + " look\n    " + file + " apply --dry-run\n\nIf that is what you expect:\n\n    " + file + " apply\n\n" + applied}, p.Apply...)

	p.Verify = append(p.Verify,
		"This exits with code 0 if every disk has its new type, size, IOPS and throughput and is attached:\n\n    "+
			file+" check\n\n"+shown)

	first, undo := "", file+" undo"
	if fresh {
		first, undo = "Move back what is on new disks and unmount them first: the script cannot see that, and takes `UNMOUNTED=yes` for an answer. ", "UNMOUNTED=yes "+undo
	}

	p.Back = append(p.Back,
		first+"This restores the type, IOPS and throughput of the others, and detaches new ones; `undo --dry-run` shows it. A disk that has grown keeps its size, because no provider can shrink one, and nothing is deleted:\n\n    "+undo)
}

// azureNeeds returns what an Azure disk requires of its machine (Azure documentation, "Using Azure Ultra
// Disks" and "Deploy a Premium SSD v2", 2026).
func azureNeeds(d *disk) []string {
	var out []string
	add := func(text string) { out = append(out, d.path+": "+text) }
	switch {
	case d.after.kind == "ultra" && d.isNew():
		add("a machine supports Ultra Disks only if its size does in its region and zone (`az vm list-skus --location LOCATION --size SIZE --all` shows `UltraSSDAvailable`), and after they are enabled, for which the machine has to be deallocated: `az vm deallocate --resource-group GROUP --name MACHINE && az vm update --resource-group GROUP --name MACHINE --ultra-ssd-enabled true && az vm start --resource-group GROUP --name MACHINE` (Azure documentation, \"Using Azure Ultra Disks\").")
	case d.after.kind == "ultra" && d.resized:
		add("an Ultra Disk can only grow while it is detached or its machine is deallocated (Azure documentation, \"Using Azure Ultra Disks\").")
	case d.after.kind == "premium-v2" && d.isNew():
		add("in most regions with zones, a machine supports Premium SSD v2 only if the machine itself is in a zone: `az vm show --resource-group GROUP --name MACHINE --query zones` shows it (Azure documentation, \"Deploy a Premium SSD v2\").")
	}
	return out
}

// burstingRule says when on-demand bursting can be turned on and off (Azure documentation, "Enable
// on-demand bursting", 2026).
const burstingRule = "It can be turned on only while the disk is detached or its machine is deallocated, and turned off again no sooner than 12 hours later (Azure documentation, \"Enable on-demand bursting\")"

// cachings are Azure's names for host caching (azurerm_virtual_machine_data_disk_attachment's caching,
// az vm disk attach's --caching, azuredisk-csi-driver's cachingMode).
var cachings = map[catalog.Caching]string{"": "None", catalog.CachedReads: "ReadOnly",
	catalog.CachedBoth: "ReadWrite"}

// hostCaching returns the provider's name for the host's caching of a disk.
func (s *spec) hostCaching() string { return cachings[s.caching] }

// cachingRule is the effect of changing a disk's host caching (Azure documentation, "High performance
// design", section "Disk caching", 2026).
const cachingRule = "To change a disk's host caching, Azure detaches the disk and attaches it again. Under a running database that can corrupt data (Azure documentation, \"High performance design\")"

// cachingRestart is what has to stop for it.
const cachingRestart = "on each machine, either stop the database and unmount its file system, or deallocate the machine, while host caching changes. Do one member at a time."

// risks returns the risks of changing volumes by the commands of a provider; "": that of each volume.
func (l *Transition) risks(provider string) []string {
	var out []string
	for i := range l.disks {
		if d := &l.disks[i]; d.after != nil {
			out = append(out, d.risks(cmp.Or(provider, d.after.provider))...)
		}
	}
	return out
}

func (d *disk) risks(provider string) []string {
	var out []string
	add := func(text string) { out = append(out, d.path+": "+text) }
	ebs := provider == "aws"

	if d.action == modified && (ebs || d.tuned) {
		for _, c := range clouds {
			if c.provider == provider {
				add(c.limits + ".")
			}
		}
	}

	if d.action == modified && d.resized {
		add("to use a larger volume, grow its file system (`xfs_growfs MOUNT` or `resize2fs DEVICE`; in Kubernetes the driver does it). A volume can never shrink.")
	}

	if ebs && d.action == modified && d.before.kind != d.after.kind {
		add("going back to " + d.before.kind + " is another modification, and not possible for some types.")
	}

	out = append(out, azureNeeds(d)...)
	if d.after.bursting && (d.switched || d.isNew()) {
		add("on-demand bursting costs a monthly fee, and a fee for each operation beyond the disk's own limits. " +
			burstingRule + ".")
	}

	if d.after.caching != "" && (d.recached || d.isNew()) {
		add("with host caching, the machine's limits for cached disks apply, which may be lower than those for uncached ones." +
			writeBack(d.after.caching))
	}

	if d.recached {
		add(cachingRule + ".")
	}

	if d.action == created && d.volume != "data" {
		how := ""
		if ebs {
			how = " (`aws ec2 create-snapshots`)"
		}
		add("a snapshot of one volume is no longer a backup. Take snapshots of all volumes of the database at the same time" +
			how + ", or block writes while you take them.")
	}

	return out
}

// writeBack warns about hosts that cache writes (Azure documentation, "High performance design").
func writeBack(c catalog.Caching) string {
	if c != catalog.CachedBoth {
		return ""
	}
	return " With read-write, the host acknowledges writes that are not on the disk yet: if it fails, they are lost unless the file system flushes the disk's cache, so never mount with nobarrier."
}
