package emit

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// A terraformDisk describes Terraform's resources for a provider's disk and its attachment, and how they
// identify a machine. Attributes: the providers' documentation of these resources (hashicorp/aws 6,
// hashicorp/google 6, hashicorp/azurerm 4).
type terraformDisk struct {
	title            string // of the file
	disk, attachment string
	word, id         string   // for a disk, and for the id of an existing one
	inPlace          string   // how an existing one is modified
	keeps            []string // its attributes to leave alone
	ebs              bool     // its name is a tag, and a new one is encrypted
	machine          []string // keys of each machine, all strings
	placed           []string // those that a disk has too
	kind, size       string   // attributes of the disk
	iops, rate       string
	bursting         string                 // "": not supported
	more             func(b *hclwrite.Body) // attributes that only this provider has; nil: none
	attach           func(b *hclwrite.Body, d *disk, name string, slot int)
	verify, back     string
}

const (
	noChanges = "`terraform plan` reports no changes"
	restore   = "Restore the old values in the resource and run `terraform apply`"
)

var resources = map[string]terraformDisk{
	"aws": {
		title: "EBS volumes for Terraform's AWS provider.",
		disk:  "aws_ebs_volume", attachment: "aws_volume_attachment", word: "volume", id: "vol-...",
		inPlace: "in place, at most four times in 24 hours.", keeps: []string{"encrypted", "tags"}, ebs: true,
		machine: []string{"availability_zone", "instance_id"}, placed: []string{"availability_zone"},
		kind: "type", size: "size", iops: "iops", rate: "throughput",
		attach: func(b *hclwrite.Body, _ *disk, name string, slot int) {
			comment(b, "# Use another name if this one is in use on the machine.")
			b.SetAttributeValue("device_name", cty.StringVal(deviceName(slot)))
			b.SetAttributeRaw("volume_id", ofEach("aws_ebs_volume", name, "id"))
			b.SetAttributeTraversal("instance_id", traversal("each", "value", "instance_id"))
		},
		verify: noChanges + "; `aws ec2 describe-volumes-modifications` shows *optimizing*, then *completed*.",
		back:   restore + " once the modification is *completed*: Amazon EBS allows at most four modifications of a volume in 24 hours (EC2 API, ModifyVolume). A volume cannot shrink again.",
	},
	"gcp": {
		title: "Disks for Terraform's Google Cloud provider.",
		disk:  "google_compute_disk", attachment: "google_compute_attached_disk", word: "disk", id: "ID",
		inPlace: "in place.", keeps: []string{"name"},
		machine: []string{"zone", "instance"}, placed: []string{"zone"},
		kind: "type", size: "size", iops: "provisioned_iops", rate: "provisioned_throughput",
		attach: func(b *hclwrite.Body, _ *disk, name string, _ int) {
			b.SetAttributeRaw("disk", ofEach("google_compute_disk", name, "id"))
			b.SetAttributeTraversal("instance", traversal("each", "value", "instance"))
			b.SetAttributeTraversal("zone", traversal("each", "value", "zone"))
		},
		verify: noChanges + ".", back: restore + ". A disk cannot shrink again.",
	},
	"azure": {
		title: "Disks for Terraform's Azure provider.",
		disk:  "azurerm_managed_disk", attachment: "azurerm_virtual_machine_data_disk_attachment",
		word: "disk", id: "ID", inPlace: "in place.", keeps: []string{"name"},
		machine: []string{"location", "zone", "resource_group_name", "virtual_machine_id"},
		placed:  []string{"location", "zone", "resource_group_name"},
		kind:    "storage_account_type", size: "disk_size_gb", iops: "disk_iops_read_write",
		rate: "disk_mbps_read_write", bursting: "on_demand_bursting_enabled",
		more: func(b *hclwrite.Body) { b.SetAttributeValue("create_option", cty.StringVal("Empty")) },
		attach: func(b *hclwrite.Body, d *disk, name string, slot int) {
			b.SetAttributeRaw("managed_disk_id", ofEach("azurerm_managed_disk", name, "id"))
			b.SetAttributeTraversal("virtual_machine_id", traversal("each", "value", "virtual_machine_id"))
			if d.isNew() {
				comment(b, "# Use another number if this one is in use on the machine.")
			} else {
				comment(b, "# Ignored: an imported attachment keeps its own number.")
			}
			b.SetAttributeValue("lun", cty.NumberIntVal(int64(10+slot)))
			b.SetAttributeValue("caching", cty.StringVal(d.after.hostCaching()))
		},
		verify: noChanges + ".", back: restore + ". A disk cannot shrink again.",
	},
}

// write writes a disk's location and figures.
func (r *terraformDisk) write(b *hclwrite.Body, s *spec) {
	for _, key := range r.placed {
		b.SetAttributeTraversal(key, traversal("each", "value", key))
	}

	b.SetAttributeValue(r.kind, cty.StringVal(s.sold()))
	if r.more != nil {
		r.more(b)
	}

	b.SetAttributeValue(r.size, cty.NumberIntVal(s.gib))
	if s.iops > 0 {
		b.SetAttributeValue(r.iops, cty.NumberIntVal(s.iops))
	}

	if s.rate > 0 {
		b.SetAttributeValue(r.rate, cty.NumberIntVal(s.rate))
	}

	if r.bursting != "" && s.bursting {
		b.SetAttributeValue(r.bursting, cty.True)
	}
}

// diskBlocks writes one member of a volume's stripe, and its attachment if the disk is new or its host
// caching changes.
func (l *Transition) diskBlocks(body *hclwrite.Body, r *terraformDisk, volume *disk, name string,
	member, slot int) {
	snapshot := ""
	if volume.isNew() && volume.after.snapshot {
		snapshot = snapshotVariable(body, volume, member)
	}

	body.AppendNewline()
	comment(body, "# "+volume.why())
	if volume.member > 0 {
		comment(body, fmt.Sprintf("# Only member %d has this %s: exclude the other members from its for_each.",
			volume.member, r.word))
	}

	if volume.action == modified {
		comment(body, "# This "+r.word+" already exists: import it, or change your existing resource. It is modified "+
			r.inPlace)
		if volume.switched {
			comment(body, "# "+burstingRule+".")
		}
	}

	// One disk per machine: the map's keys are the machines' names.
	b := perMachine(body, r.disk, name)
	label := quotedWithKey(l.label(volume, member))
	if !r.ebs {
		b.SetAttributeRaw("name", label)
	}

	r.write(b, volume.after)
	if r.ebs && volume.isNew() {
		b.SetAttributeValue("encrypted", cty.True)
	}

	if snapshot != "" {
		b.SetAttributeTraversal("snapshot_id", traversal("var", snapshot))
		if rate := volume.after.fetch; rate > 0 {
			b.SetAttributeValue("volume_initialization_rate", cty.NumberIntVal(rate))
		}
	}

	if r.ebs {
		b.AppendNewline()
		b.SetAttributeRaw("tags", hclwrite.TokensForObject([]hclwrite.ObjectAttrTokens{{
			Name: hclwrite.TokensForIdentifier("Name"), Value: label,
		}}))
	}

	if volume.isNew() {
		protect(b)
	} else {
		protect(b, r.keeps...)
	}

	if !volume.isNew() && !volume.recached {
		return
	}

	body.AppendNewline()
	if volume.recached {
		comment(
			body, "# Host caching belongs to the attachment, which already exists: import it, or change your existing resource.",
			"# "+cachingRule+".")
	}

	a := perMachine(body, r.attachment, name)
	r.attach(a, volume, name, slot)
	if volume.recached {
		// A different machine, disk or number would replace the attachment, which detaches the disk.
		protect(a, "lun", "managed_disk_id", "virtual_machine_id")
	}
}

// label returns the name of one member of a volume's stripe; the machine's name follows.
func (l *Transition) label(d *disk, member int) string {
	label := l.slug() + "-" + d.name
	if d.action == remade {
		label += "-new"
	}
	if d.after.width > 1 {
		label += fmt.Sprintf("-%d", member)
	}
	return label
}

// perMachine begins a resource with one instance per machine.
func perMachine(body *hclwrite.Body, kind, name string) *hclwrite.Body {
	b := body.AppendNewBlock("resource", []string{kind, name}).Body()
	b.SetAttributeTraversal("for_each", traversal("var", "plimsoll_machines"))
	b.AppendNewline()
	return b
}

// protect keeps Terraform from replacing a resource, which would delete the data, and leaves attributes of
// an imported one alone.
func protect(b *hclwrite.Body, keeps ...string) {
	b.AppendNewline()
	life := b.AppendNewBlock("lifecycle", nil).Body()
	life.SetAttributeValue("prevent_destroy", cty.True)
	var names []hclwrite.Tokens
	for _, name := range keeps {
		names = append(names, hclwrite.TokensForIdentifier(name))
	}
	if len(names) > 0 {
		life.SetAttributeRaw("ignore_changes", hclwrite.TokensForTuple(names))
	}
}

// snapshotVariable writes the variable with the id of the snapshot that a volume is created from, and returns
// its name.
func snapshotVariable(body *hclwrite.Body, volume *disk, member int) string {
	name := "plimsoll_" + volume.snapshotOf(member, strings.ToLower) + "_snapshot"
	body.AppendNewline()
	v := body.AppendNewBlock("variable", []string{name}).Body()
	v.SetAttributeValue("description", cty.StringVal("The id of the snapshot to create the volume "+
		volume.name+" from"+numbered(member, volume.after.width)+"."))
	v.SetAttributeTraversal("type", traversal("string"))
	return name
}

// importAttachment returns how to import the attachment of a disk whose host caching changes.
func importAttachment(d *disk) string {
	name := strings.ReplaceAll(d.name, "-", "_")
	if d.after.width > 1 {
		name += "_1"
	}
	return fmt.Sprintf("%s: the disk's host caching belongs to its attachment, which Terraform must also know: `terraform import '%s.%s[\"NAME\"]' ID_OF_THE_MACHINE/dataDisks/NAME_OF_THE_DISK`%s. %s: stop the database and unmount the file system first, one machine at a time.",
		d.path, resources[d.after.provider].attachment, name, ofStripe(d.after.width), cachingRule)
}
