package emit

import (
	_ "embed"
	"fmt"
	"strings"
)

// awsScript is the common part of the script.
//
//go:embed aws.bash
var awsScript string

// aws writes a script of `aws ec2` commands that modify volumes in place, create and attach volumes, and
// change the instance's type.
func aws(transition *Transition, o *Options) (*Part, error) {
	part := &Part{}
	var script, ids strings.Builder

	fresh, needsInstance := false, false
	for _, disk := range transition.disks {
		if disk.action == removed {
			continue
		}

		// With several targets, another one may carry out this change.
		if err := disk.carries("aws"); err != nil {
			if o.Skip {
				continue
			}
			return nil, err
		}

		part.Applies = append(part.Applies, disk.path)
		fmt.Fprintf(&script, "\n# %s\n", disk.why())
		if disk.action == modified {
			variable := strings.ToUpper(strings.ReplaceAll(disk.name, "-", "_")) + "_VOLUMES"
			fmt.Fprintf(
				&ids, "#   %-16s ids of the volumes %q of each machine to modify, separated by spaces%s\n",
				variable, disk.name, ofStripe(disk.after.width))
			fmt.Fprintf(&script, "for id in ${%s:?ids of the volumes %s}; do\n\tmodified \"$id\" %s  %s\ndone\n", variable,
				disk.name, disk.before.figures(), disk.after.figures())
			continue
		}

		fresh, needsInstance = true, true
		fmt.Fprintf(&script, "for instance in ${INSTANCES:?ids of the instances}; do\n")

		for n := 1; n <= disk.after.width; n++ {
			name := transition.slug() + "-" + disk.name
			if disk.after.width > 1 {
				name += fmt.Sprintf("-%d", n)
			}

			fmt.Fprintf(&script, "\tfresh \"$instance\" \"$instance-%s\" %s", name, disk.after.figures())

			// Only the operators know the snapshot, so it is a variable of the script.
			if disk.after.snapshot {
				variable := disk.snapshotOf(n, strings.ToUpper) + "_SNAPSHOT"
				fmt.Fprintf(&ids, "#   %-16s id of the snapshot to create the volume %q from%s\n", variable, disk.name,
					numbered(n, disk.after.width))
				fmt.Fprintf(&script, " \"${%s:?id of the snapshot for %s}\" %d", variable, disk.name, disk.after.fetch)
			}

			script.WriteString("\n")
		}

		script.WriteString("done\n")
		part.Apply = append(part.Apply, transition.arrival(&disk))
	}

	if transition.awsMachine(part, &script) {
		needsInstance = true
	}

	if script.Len() == 0 {
		return nil, nil
	}

	// Scripts that only modify volumes do not need the instances.
	if needsInstance {
		ids.WriteString("#   INSTANCES        ids of the instances that run the database, separated by spaces\n")
	}

	text := "#!/bin/bash\n" + transition.Head("#", "Commands of the AWS CLI for EBS volumes.", "",
		"It reads these environment variables:") + ids.String() +
		"# and those of the AWS CLI: AWS_PROFILE, AWS_REGION.\n# It has four verbs: look, apply, check, undo; apply and undo accept --dry-run.\nset -euo pipefail\n\n" +
		withFunctions(cloudScript) + "\n" +
		awsScript + "layout() {" +
		indented(script.String()) + "}\n\nmain \"$@\"\n"

	part.Files = []File{{Path: "aws/volumes.sh", Text: []byte(text), Mode: executable}}
	part.describe("aws/volumes.sh",
		ids.String(), "You can run it again: it skips what is already done. Before it changes anything, it checks everything, and refuses a volume whose last modification is not completed.",
		"`aws ec2 describe-volumes-modifications --filters Name=volume-id,Values=VOLUME` shows the progress of a modification. In the state *optimizing*, performance is at least the old one but may not reach the new one: compare only after it says *completed*.", fresh)
	part.Risks = append(part.Risks, ebsRisks(transition)...)

	return part, nil
}

// indented indents lines for a function body, except blank ones.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteByte('\t')
		}
		b.WriteString(line)
	}
	return b.String()
}

func ofStripe(width int) string {
	if width == 1 {
		return ""
	}
	return fmt.Sprintf(", all %d of its stripe", width)
}

// awsMachine writes the changes that require stopping a machine: of its type, and of its bandwidth
// weighting. It reports whether there are any.
func (l *Transition) awsMachine(p *Part, b *strings.Builder) bool {
	const stays = "-"
	was, will, why := [2]string{stays, stays}, [2]string{stays, stays}, []string{}
	if l.Changed("host.instance") && !l.isNew && l.After.Host.Instance != "" {
		will[0] = l.After.Instance().Name
		// Without an old type, undo leaves the instance's type alone.
		if l.Before.Host.Instance != "" {
			was[0] = l.Before.Instance().Name
		}
		why = append(why, "# "+l.Because("host.instance"))
		p.Applies = append(p.Applies, "host.instance", "host.cores", "host.memory")
		p.Restarts = append(
			p.Restarts, "each instance stops and starts, because its type changes. Do one member at a time: the script refuses more than one id in `INSTANCES`, and an instance with local disks without `LOCAL_DISKS=lost`.")
		p.Risks = append(
			p.Risks, "A stopped instance loses the data on its local NVMe disks and, without an Elastic IP, its public address.")
	}

	if l.Changed("host.bandwidth_weighting") {
		was[1], will[1] = weighting(l.Before.Host.BandwidthWeighting), weighting(l.After.Host.BandwidthWeighting)
		why = append(why,
			"# "+
				l.Because(
					"host.bandwidth_weighting"), "# The weighting is free, but the network loses the same bandwidth.")
		p.Applies = append(p.Applies, "host.bandwidth_weighting")
		p.Restarts = append(
			p.Restarts, "each instance stops and starts, because its bandwidth weighting changes. Do one member at a time.")
		p.Risks = append(
			p.Risks, "host.bandwidth_weighting: the network's baseline loses what EBS gains (Amazon EC2 user guide, \"EC2 instance bandwidth weighting configuration\"): check the network's utilisation first.")
	}

	if len(why) == 0 {
		return false
	}

	fmt.Fprintf(
		b, "\n%s\n# This stops the instance: the data on its local NVMe disks is lost.\nfor instance in ${INSTANCES:?ids of the instances}; do\n\tstopped \"$instance\" %s %s  %s %s\ndone\n",
		strings.Join(why, "\n"), was[0], will[0], was[1], will[1])
	return true
}

// weighting returns the provider's name of a bandwidth weighting.
func weighting(w string) string {
	if w == "" {
		return "default"
	}
	return w
}
