package emit

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// terraform writes aws_ebs_volume and aws_volume_attachment, or their counterparts for Google Cloud and
// Azure, for each new or changed volume. Each has one instance per machine of a map that the user fills
// in. Attributes: the AWS provider's documentation of these two resources, 6.0.
func terraform(transition *Transition, o *Options) (*Part, error) {
	part := &Part{}
	title := "EBS volumes for Terraform's AWS provider."
	provider := transition.rentedFrom()
	if provider != "aws" {
		title = "Disks for Terraform's " + products[provider] + " provider."
	}

	hclFile := hclwrite.NewEmptyFile()
	body := hclFile.Body()
	comment(body, strings.Split(strings.TrimSuffix(transition.Head("#", title), "\n"), "\n")...)
	wrote, fresh := false, false

	slot := 0
	for _, volume := range transition.disks {
		if volume.action == removed {
			continue
		}

		if err := volume.carries("terraform"); err != nil {
			if o.Skip {
				continue
			}
			return nil, err
		}

		// The variable comes once, and only if there is a resource that uses it.
		if !wrote {
			machines(body, provider)
			wrote = true
		}

		for n := 1; n <= volume.after.width; n++ {
			name := strings.ReplaceAll(volume.name, "-", "_")
			if volume.action == remade {
				name += "_new" // the old volume stays, and its resource is probably called data
			}

			if volume.after.width > 1 {
				name = fmt.Sprintf("%s_%d", name, n)
			}

			if provider != "aws" {
				transition.cloudBlocks(body, &volume, name, n, slot)
				slot++
				continue
			}

			transition.volumeBlock(body, &volume, name, n)
			if volume.isNew() {
				attachmentBlock(body, name, deviceName(slot))
				slot++
			}
		}

		part.Applies = append(part.Applies, volume.path)
		if volume.recached {
			part.Apply = append(part.Apply, importAttachment(&volume))
			part.Restarts = append(part.Restarts, volume.path+": "+cachingRestart)
		}

		if volume.isNew() {
			fresh = true
			part.Apply = append(part.Apply, transition.arrival(&volume))
		}
	}

	if !wrote {
		return nil, nil
	}

	part.Files = []File{{Path: "terraform/volumes.tf", Text: hclwrite.Format(hclFile.Bytes()), Mode: plain}}
	disk, id := resources[provider].disk, "ID"
	if provider == "aws" {
		disk, id = "aws_ebs_volume", "vol-..."
	}

	part.Apply = append(
		[]string{"List the machines in `var.plimsoll_machines`. Terraform must know an existing volume first: either change its resource to these values, or " +
			"`terraform import '" + disk + ".data[\"NAME\"]' " + id +
			"`. `terraform plan` must then show *update in-place* for it: **a plan that shows *replace* or *destroy* would delete the data.**"}, part.Apply...)

	part.Verify = []string{"`terraform plan` reports no changes; `aws ec2 describe-volumes-modifications` shows *optimizing*, then *completed*."}
	part.Back = []string{"Restore the old values in the resource and run `terraform apply` once the modification is *completed*: Amazon EBS allows at most four modifications of a volume in 24 hours (EC2 API, ModifyVolume). A volume cannot shrink again."}
	if provider != "aws" {
		part.Verify = []string{"`terraform plan` reports no changes."}
		part.Back = []string{"Restore the old values in the resource and run `terraform apply`. A disk cannot shrink again."}
	}

	if fresh {
		part.Back = append(part.Back, "Move back what is on new volumes and unmount them first. Then remove only the blocks of their *attachments*, and run `terraform apply`. **Removing a volume's own block destroys it with its data: `prevent_destroy` protects it only while the block exists.** To take it out of Terraform and keep it: `terraform state rm`.")
	}

	part.Risks = cloudRisks(transition)
	return part, nil
}

// comment appends comment lines unchanged.
func comment(body *hclwrite.Body, lines ...string) {
	for _, line := range lines {
		body.AppendUnstructuredTokens(hclwrite.Tokens{{Type: hclsyntax.TokenComment, Bytes: []byte(line + "\n")}})
	}
}

// machines writes the variable with the machines to attach the volumes to.
func machines(body *hclwrite.Body, provider string) {
	body.AppendNewline()
	v := body.AppendNewBlock("variable", []string{"plimsoll_machines"}).Body()
	v.SetAttributeValue("description",
		cty.StringVal("The machines that run the database, by name: each gets these volumes."))
	keys := []string{"availability_zone", "instance_id"}

	if r, ok := resources[provider]; ok {
		keys = r.machine
	}

	var attributes []hclwrite.ObjectAttrTokens
	for _, key := range keys {
		attributes = append(attributes,
			hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(key),
				Value: hclwrite.TokensForIdentifier("string")})
	}

	v.SetAttributeRaw("type", hclwrite.TokensForFunctionCall("map",
		hclwrite.TokensForFunctionCall("object", hclwrite.TokensForObject(attributes))))
}

// volumeBlock writes one member of a volume's stripe.
func (l *Transition) volumeBlock(body *hclwrite.Body, volume *disk, name string, member int) {
	spec := volume.after
	snapshot := "plimsoll_" + volume.snapshotOf(member, strings.ToLower) + "_snapshot"
	made := volume.isNew() && spec.snapshot
	if made {
		body.AppendNewline()
		v := body.AppendNewBlock("variable", []string{snapshot}).Body()
		v.SetAttributeValue("description",
			cty.StringVal("The id of the snapshot to create the volume "+volume.name+" from"+numbered(member, spec.width)+"."))
		v.SetAttributeTraversal("type", traversal("string"))
	}

	body.AppendNewline()
	comment(body, "# "+volume.why())
	if volume.member > 0 {
		comment(body, fmt.Sprintf("# Only member %d has this volume: exclude the other members from its for_each.",
			volume.member))
	}

	if volume.action == modified {
		comment(
			body, "# This volume already exists: import it, or change your existing resource. It is modified in place, at most four times in 24 hours.")
	}

	block := body.AppendNewBlock("resource", []string{"aws_ebs_volume", name}).Body()

	// One volume per machine: the map's keys are the instances' names.
	block.SetAttributeTraversal("for_each", traversal("var", "plimsoll_machines"))
	block.AppendNewline()
	block.SetAttributeTraversal("availability_zone", traversal("each", "value", "availability_zone"))
	block.SetAttributeValue("type", cty.StringVal(spec.kind))
	block.SetAttributeValue("size", cty.NumberIntVal(spec.gib))

	if spec.iops > 0 {
		block.SetAttributeValue("iops", cty.NumberIntVal(spec.iops))
	}

	if spec.rate > 0 {
		block.SetAttributeValue("throughput", cty.NumberIntVal(spec.rate))
	}

	if volume.isNew() {
		block.SetAttributeValue("encrypted", cty.True)
	}

	if made {
		block.SetAttributeTraversal("snapshot_id", traversal("var", snapshot))
		if spec.fetch > 0 {
			block.SetAttributeValue("volume_initialization_rate", cty.NumberIntVal(spec.fetch))
		}
	}

	block.AppendNewline()
	label := l.slug() + "-" + volume.name
	if volume.action == remade {
		label += "-new"
	}

	if spec.width > 1 {
		label += fmt.Sprintf("-%d", member)
	}

	block.SetAttributeRaw("tags", hclwrite.TokensForObject([]hclwrite.ObjectAttrTokens{{
		Name: hclwrite.TokensForIdentifier("Name"), Value: quotedWithKey(label),
	}}))
	block.AppendNewline()
	life := block.AppendNewBlock("lifecycle", nil).Body()

	// A replacement would delete the data.
	life.SetAttributeValue("prevent_destroy", cty.True)

	if volume.action == modified {
		// Keep these values of an imported volume.
		life.SetAttributeRaw("ignore_changes",
			hclwrite.TokensForTuple([]hclwrite.Tokens{hclwrite.TokensForIdentifier("encrypted"),
				hclwrite.TokensForIdentifier("tags")}))
	}
}

// quotedWithKey returns the expression "<label>-${each.key}".
func quotedWithKey(label string) hclwrite.Tokens {
	return hclwrite.Tokens{
		{Type: hclsyntax.TokenOQuote, Bytes: []byte(`"`)},
		{Type: hclsyntax.TokenQuotedLit, Bytes: []byte(label + "-")},
		{Type: hclsyntax.TokenTemplateInterp, Bytes: []byte("${")},
		{Type: hclsyntax.TokenIdent, Bytes: []byte("each")},
		{Type: hclsyntax.TokenDot, Bytes: []byte(".")},
		{Type: hclsyntax.TokenIdent, Bytes: []byte("key")},
		{Type: hclsyntax.TokenTemplateSeqEnd, Bytes: []byte("}")},
		{Type: hclsyntax.TokenCQuote, Bytes: []byte(`"`)},
	}
}

// attachmentBlock writes the attachment of a new volume.
func attachmentBlock(body *hclwrite.Body, name, device string) {
	body.AppendNewline()
	b := body.AppendNewBlock("resource", []string{"aws_volume_attachment", name}).Body()
	b.SetAttributeTraversal("for_each", traversal("var", "plimsoll_machines"))
	b.AppendNewline()
	comment(b, "# Use another name if this one is in use on the machine.")
	b.SetAttributeValue("device_name", cty.StringVal(device))
	b.SetAttributeRaw("volume_id", ofEach("aws_ebs_volume", name, "id"))
	b.SetAttributeTraversal("instance_id", traversal("each", "value", "instance_id"))
}

// ofEach returns the expression RESOURCE.NAME[each.key].ATTRIBUTE.
func ofEach(resource, name, attribute string) hclwrite.Tokens {
	return hclwrite.Tokens{
		{Type: hclsyntax.TokenIdent, Bytes: []byte(resource)}, {Type: hclsyntax.TokenDot, Bytes: []byte(".")},
		{Type: hclsyntax.TokenIdent, Bytes: []byte(name)},
		{Type: hclsyntax.TokenOBrack, Bytes: []byte("[")}, {Type: hclsyntax.TokenIdent, Bytes: []byte("each")},
		{Type: hclsyntax.TokenDot, Bytes: []byte(".")},
		{Type: hclsyntax.TokenIdent, Bytes: []byte("key")}, {Type: hclsyntax.TokenCBrack, Bytes: []byte("]")},
		{Type: hclsyntax.TokenDot, Bytes: []byte(".")}, {Type: hclsyntax.TokenIdent, Bytes: []byte(attribute)},
	}
}

// rentedFrom returns the provider of the network volumes that the layout changes: that of the first one,
// or "aws" if there are none.
func (l *Transition) rentedFrom() string {
	for _, d := range l.disks {
		if d.after != nil && resources[d.after.provider].disk != "" {
			return d.after.provider
		}
		if d.after != nil && !d.after.local {
			break
		}
	}
	return "aws"
}

func traversal(root string, attrs ...string) hcl.Traversal {
	out := hcl.Traversal{hcl.TraverseRoot{Name: root}}
	for _, a := range attrs {
		out = append(out, hcl.TraverseAttr{Name: a})
	}
	return out
}

// deviceName returns the device name for attaching volume n: /dev/sdf to sdp, as Amazon recommends for EBS,
// then /dev/xvdba and following (Amazon EC2 user guide, "Device names for volumes"). The kernel uses a
// different name, such as nvme1n1.
func deviceName(n int) string {
	// Eleven names from sdf to sdp, then the longer ones.
	if first := int('p' - 'f' + 1); n >= first {
		n -= first
		return fmt.Sprintf("/dev/xvd%c%c", 'b'+rune(n/26), 'a'+rune(n%26))
	}
	return "/dev/sd" + string(rune('f'+n))
}

// ebsRisks returns the risks of changing EBS volumes.
func ebsRisks(l *Transition) []string {
	var out []string
	for _, d := range l.disks {
		if d.action == modified {
			out = append(out,
				d.path+
					": EBS optimizes a modified volume for minutes to a day, a full 1 TiB volume for about six hours, with performance between the old and the new (Amazon EBS user guide, \"Monitor the progress of volume modifications\"). Until then it cannot be modified again, and it can be modified at most four times in 24 hours (EC2 API, ModifyVolume).")
		}

		if d.action == modified && d.resized {
			out = append(out,
				d.path+
					": to use a larger volume, grow its file system (`xfs_growfs MOUNT` or `resize2fs DEVICE`; in Kubernetes the driver does it). A volume can never shrink.")
		}

		if d.action == modified && d.before.kind != d.after.kind {
			out = append(out, d.path+": going back to "+d.before.kind+
				" is another modification, and not possible for some types.")
		}

		if d.action == created && d.volume != "data" {
			out = append(out,
				d.path+
					": a snapshot of one volume is no longer a backup. Take snapshots of all volumes of the database at the same time (`aws ec2 create-snapshots`), or block writes while you take them.")
		}
	}

	return out
}
