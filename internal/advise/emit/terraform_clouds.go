package emit

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// A terraformDisk describes Terraform's resources for a provider's disk and its attachment, and how they
// identify a machine. Attributes: the providers' documentation of these resources (hashicorp/google 6,
// hashicorp/azurerm 4).
type terraformDisk struct {
	disk, attachment string
	machine          []string // keys of each machine, all strings
	placed           []string // those that a disk has too
	kind, size       string   // attributes of the disk
	iops, rate       string
	bursting         string                 // "": not supported
	more             func(b *hclwrite.Body) // attributes that only this provider has; nil: none
	attach           func(b *hclwrite.Body, d *disk, name string, slot int)
}

var resources = map[string]terraformDisk{
	"gcp": {
		disk: "google_compute_disk", attachment: "google_compute_attached_disk",
		machine: []string{"zone", "instance"},
		placed:  []string{"zone"}, kind: "type", size: "size", iops: "provisioned_iops",
		rate: "provisioned_throughput",
		attach: func(b *hclwrite.Body, _ *disk, name string, _ int) {
			b.SetAttributeRaw("disk", ofEach("google_compute_disk", name, "id"))
			b.SetAttributeTraversal("instance", traversal("each", "value", "instance"))
			b.SetAttributeTraversal("zone", traversal("each", "value", "zone"))
		},
	},
	"azure": {
		disk: "azurerm_managed_disk", attachment: "azurerm_virtual_machine_data_disk_attachment",
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

// cloudBlocks writes one member of a volume's stripe, a disk of Google Cloud or Azure, and its attachment if
// the disk is new or its host caching changes.
func (l *Transition) cloudBlocks(body *hclwrite.Body, volume *disk, name string, member, slot int) {
	terraformDisk := resources[volume.after.provider]
	body.AppendNewline()
	comment(body, "# "+volume.why())

	if volume.member > 0 {
		comment(body, fmt.Sprintf("# Only member %d has this disk: exclude the other members from its for_each.",
			volume.member))
	}

	if volume.action == modified {
		comment(
			body, "# This disk already exists: import it, or change your existing resource. It is modified in place.")
		if volume.switched {
			comment(body, "# "+burstingRule+".")
		}
	}

	b := body.AppendNewBlock("resource", []string{terraformDisk.disk, name}).Body()
	b.SetAttributeTraversal("for_each", traversal("var", "plimsoll_machines"))
	b.AppendNewline()
	label := l.slug() + "-" + volume.name

	if volume.action == remade {
		label += "-new"
	}

	if volume.after.width > 1 {
		label += fmt.Sprintf("-%d", member)
	}

	b.SetAttributeRaw("name", quotedWithKey(label))
	terraformDisk.write(b, volume.after)
	b.AppendNewline()
	life := b.AppendNewBlock("lifecycle", nil).Body()
	life.SetAttributeValue("prevent_destroy", cty.True)

	if !volume.isNew() {
		life.SetAttributeRaw("ignore_changes",
			hclwrite.TokensForTuple([]hclwrite.Tokens{hclwrite.TokensForIdentifier("name")}))
		if !volume.recached {
			return
		}
	}

	body.AppendNewline()
	if volume.recached {
		comment(
			body, "# Host caching belongs to the attachment, which already exists: import it, or change your existing resource.",
			"# "+cachingRule+".")
	}

	a := body.AppendNewBlock("resource", []string{terraformDisk.attachment, name}).Body()
	a.SetAttributeTraversal("for_each", traversal("var", "plimsoll_machines"))
	a.AppendNewline()
	terraformDisk.attach(a, volume, name, slot)

	if volume.recached {
		// A different machine, disk or number would replace the attachment, which detaches the disk.
		a.AppendNewline()
		life := a.AppendNewBlock("lifecycle", nil).Body()
		life.SetAttributeValue("prevent_destroy", cty.True)
		life.SetAttributeRaw("ignore_changes", hclwrite.TokensForTuple([]hclwrite.Tokens{
			hclwrite.TokensForIdentifier("lun"), hclwrite.TokensForIdentifier("managed_disk_id"),
			hclwrite.TokensForIdentifier("virtual_machine_id"),
		}))
	}
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
