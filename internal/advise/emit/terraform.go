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
	provider := transition.rentedFrom()
	resource := resources[provider]

	hclFile := hclwrite.NewEmptyFile()
	body := hclFile.Body()
	comment(body, strings.Split(strings.TrimSuffix(transition.Head("#", resource.title), "\n"), "\n")...)
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
			machines(body, resource.machine)
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

			transition.diskBlocks(body, &resource, &volume, name, n, slot)
			if volume.isNew() || provider != "aws" {
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
	part.Apply = append(
		[]string{"List the machines in `var.plimsoll_machines`. Terraform must know an existing volume first: either change its resource to these values, or " +
			"`terraform import '" + resource.disk + ".data[\"NAME\"]' " + resource.id +
			"`. `terraform plan` must then show *update in-place* for it: **a plan that shows *replace* or *destroy* would delete the data.**"}, part.Apply...)

	part.Verify = []string{resource.verify}
	part.Back = []string{resource.back}
	if fresh {
		part.Back = append(part.Back, "Move back what is on new volumes and unmount them first. Then remove only the blocks of their *attachments*, and run `terraform apply`. **Removing a volume's own block destroys it with its data: `prevent_destroy` protects it only while the block exists.** To take it out of Terraform and keep it: `terraform state rm`.")
	}

	part.Risks = transition.risks("")
	return part, nil
}

// comment appends comment lines unchanged.
func comment(body *hclwrite.Body, lines ...string) {
	for _, line := range lines {
		body.AppendUnstructuredTokens(hclwrite.Tokens{{Type: hclsyntax.TokenComment, Bytes: []byte(line + "\n")}})
	}
}

// machines writes the variable with the machines to attach the volumes to.
func machines(body *hclwrite.Body, keys []string) {
	body.AppendNewline()
	v := body.AppendNewBlock("variable", []string{"plimsoll_machines"}).Body()
	v.SetAttributeValue("description",
		cty.StringVal("The machines that run the database, by name: each gets these volumes."))

	var attributes []hclwrite.ObjectAttrTokens
	for _, key := range keys {
		attributes = append(attributes,
			hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(key),
				Value: hclwrite.TokensForIdentifier("string")})
	}

	v.SetAttributeRaw("type", hclwrite.TokensForFunctionCall("map",
		hclwrite.TokensForFunctionCall("object", hclwrite.TokensForObject(attributes))))
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
