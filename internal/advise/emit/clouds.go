package emit

import (
	_ "embed"
	"fmt"
	"strings"

	"plimsoll/internal/model/catalog"
)

// The scripts for Google Cloud and Azure: the common part, and the commands of each.
var (
	//go:embed cloud.bash
	cloudScript string
	//go:embed gcp.bash
	gcpScript string
	//go:embed azure.bash
	azureScript string
)

// A cloud is a provider whose command line changes disks.
type cloud struct {
	provider string
	about    string
	commands string // shell functions that call its command line
	needs    string // environment variables, one per line
	look     string // the command that shows a disk
	limits   string // on how often a disk can be changed
}

var clouds = []cloud{
	{"gcp", "Commands of gcloud for Google Cloud's disks.", gcpScript,
		"#   ZONE             the zone of the machines and their disks\n",
		"`gcloud compute disks describe DISK --zone ZONE`",
		"a Hyperdisk's size, IOPS and throughput can be changed once every four hours (Google Cloud documentation, \"Hyperdisk\"): change all of them in one step, as the script does; an undo has to wait too"},
	{"azure", "Commands of the Azure CLI for managed disks.", azureScript,
		"#   RESOURCE_GROUP   the resource group of the machines and their disks\n",
		"`az disk show --resource-group GROUP --name DISK`",
		"IOPS and throughput of Premium SSD v2 and Ultra Disks can be changed four times in 24 hours, and creating a Premium SSD v2 counts as one; a change of an Ultra Disk takes up to an hour, and fails if Azure has no capacity for it (Azure documentation, managed disk types)"},
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

	fresh := false
	for _, disk := range transition.disks {
		// No script deletes a volume: that is left to the operators.
		if disk.action == removed {
			continue
		}

		if err := disk.carries(c.provider); err != nil {
			if o.Skip {
				continue
			}
			return nil, err
		}

		part.Applies = append(part.Applies, disk.path)
		fmt.Fprintf(&steps, "\n# %s\n", disk.why())
		if disk.action == modified {
			variable := strings.ToUpper(strings.ReplaceAll(disk.name, "-", "_")) + "_DISKS"
			fmt.Fprintf(&ids, "#   %-16s names of the disks %q of each machine, separated by spaces%s\n",
				variable, disk.name, ofStripe(disk.after.width))
			fmt.Fprintf(&steps, "for disk in ${%s:?names of the disks %s}; do\n\tmodified \"$disk\" %s  %s\n",
				variable, disk.name, disk.before.figures(), disk.after.figures())

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
		steps.WriteString("for machine in ${MACHINES:?names of the machines}; do\n")

		for n := 1; n <= disk.after.width; n++ {
			// The name must be unique per machine, and stable, so that a second run finds the disk.
			name := transition.slug() + "-" + disk.name
			if disk.after.width > 1 {
				name += fmt.Sprintf("-%d", n)
			}

			burst := ""
			if disk.after.bursting {
				burst = " --enable-bursting true"
			}

			attached := ""
			if disk.after.caching != "" {
				attached = "caching=" + disk.after.hostCaching() + " "
			}

			fmt.Fprintf(&steps, "\t%sfresh \"$machine\" \"$machine-%s\" %s%s\n", attached, name,
				disk.after.figures(), burst)

			// apply sets the caching with the attachment; check verifies it separately.
			if disk.after.caching != "" {
				fmt.Fprintf(&steps, "\t[[ $verb != check ]] || cached \"$machine-%s\" None %s\n", name,
					disk.after.hostCaching())
			}
		}

		steps.WriteString("done\n")
		part.Apply = append(part.Apply, transition.arrives(&disk))
	}

	if steps.Len() == 0 {
		return nil, nil
	}

	// Only new disks need the machines' names: existing ones are found by their own.
	if fresh {
		ids.WriteString("#   MACHINES         names of the machines that run the database, separated by spaces\n")
	}

	file := c.provider + "/volumes.sh"
	text := "#!/bin/bash\n" + transition.Head("#", c.about, "", "It reads these environment variables:") +
		c.needs + ids.String() +
		"# It has four verbs: look, apply, check, undo; apply and undo accept --dry-run.\nset -euo pipefail\n\n" +
		withFunctions(cloudScript) + "\n" + c.commands + "layout() {" + indented(steps.String()) +
		"}\n\nmain \"$@\"\n"

	part.Files = []File{{Path: file, Text: []byte(text), Mode: executable}}
	part.describe(file,
		c.needs+ids.String(), "You can run it again: it skips what is already done, and checks everything before it changes anything.",
		c.look+" shows a disk.", fresh)
	part.Risks = append(part.Risks, cloudRisks(transition)...)

	return part, nil
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

// cloudRisks returns the risks of changing volumes, by provider.
func cloudRisks(l *Transition) []string {
	var out []string
	for i := range l.disks {
		disk := &l.disks[i]

		// The risks of EBS volumes have their own function, which takes a layout with one disk.
		if disk.after == nil || disk.after.provider == "aws" {
			out = append(out, ebsRisks(&Transition{disks: l.disks[i : i+1]})...)
			continue
		}

		for _, c := range clouds {
			if c.provider == disk.after.provider && disk.action == modified && disk.tuned {
				out = append(out, disk.path+": "+c.limits+".")
			}
		}

		if disk.action == modified && disk.resized {
			out = append(out,
				disk.path+
					": to use a larger volume, grow its file system (`xfs_growfs MOUNT` or `resize2fs DEVICE`; in Kubernetes the driver does it). A volume can never shrink.")
		}

		out = append(out, azureNeeds(disk)...)
		if disk.after.bursting && (disk.switched || disk.isNew()) {
			out = append(out,
				disk.path+
					": on-demand bursting costs a monthly fee, and a fee for each operation beyond the disk's own limits. "+
					burstingRule+".")
		}

		if disk.after.caching != "" && (disk.recached || disk.isNew()) {
			out = append(out,
				disk.path+
					": with host caching, the machine's limits for cached disks apply, which may be lower than those for uncached ones."+
					writeBack(disk.after.caching))
		}

		if disk.recached {
			out = append(out, disk.path+": "+cachingRule+".")
		}

		if disk.action == created && disk.volume != "data" {
			out = append(out,
				disk.path+
					": a snapshot of one volume is no longer a backup. Take snapshots of all volumes of the database at the same time, or block writes while you take them.")
		}
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
