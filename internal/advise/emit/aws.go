package emit

import (
	_ "embed"
	"fmt"
	"strings"
)

// awsScript is what the script can do, before the lines that describe it.
//
//go:embed aws.bash
var awsScript string

// aws writes a script of `aws ec2` commands: volumes modified in place, volumes created and
// attached, the instance's type.
func aws(l *Layout, o *Options) (*Part, error) {
	p := &Part{}
	var b, ids strings.Builder
	needsInstance := false
	for _, d := range l.disks {
		if d.fate == removed {
			continue
		}
		if err := d.carries("aws"); err != nil {
			if o.Skip {
				continue
			}
			return nil, err
		}
		p.Applies = append(p.Applies, d.path)
		fmt.Fprintf(&b, "\n# %s\n", d.why())
		if d.fate == modified {
			variable := strings.ToUpper(strings.ReplaceAll(d.name, "-", "_")) + "_VOLUMES"
			fmt.Fprintf(&ids, "#   %-16s ids of the volumes %q to modify, separated by spaces: those of each machine%s\n", variable, d.name, ofStripe(d.after.width))
			fmt.Fprintf(&b, "for id in ${%s:?ids of the volumes %s}; do\n\tmodify \"$id\" %s\ndone\n", variable, d.name, d.order())
			continue
		}
		needsInstance = true
		fmt.Fprintf(&b, "for instance in ${INSTANCES:?ids of the instances}; do\n")
		for n := 1; n <= d.after.width; n++ {
			name := l.slug() + "-" + d.name
			if d.after.width > 1 {
				name += fmt.Sprintf("-%d", n)
			}
			fmt.Fprintf(&b, "\tcreate \"$instance\" %s %s", name, d.order())
			if d.after.snapshot {
				variable := d.snapshotOf(n, strings.ToUpper) + "_SNAPSHOT"
				fmt.Fprintf(&ids, "#   %-16s id of the snapshot that the volume %q is made from%s\n", variable, d.name, numbered(n, d.after.width))
				fmt.Fprintf(&b, " \"${%s:?id of the snapshot for %s}\" %d", variable, d.name, d.after.fetch)
			}
			b.WriteString("\n")
		}
		b.WriteString("done\n")
		p.Apply = append(p.Apply, l.arrival(&d))
	}
	if l.Changed("host.instance") && l.After.Host.Instance != "" {
		needsInstance = true
		fmt.Fprintf(&b, "\n# %s\n# The instance is stopped for this: the data on its local NVMe is lost.\nfor instance in ${INSTANCES:?ids of the instances}; do\n\tretype \"$instance\" %s\ndone\n", l.Because("host.instance"), l.After.Instance().Name)
		p.Applies = append(p.Applies, "host.instance", "host.cores", "host.memory")
		p.Restarts = append(p.Restarts, "each instance is stopped and started, because its type changes. Do one member at a time: run the script with one id in `INSTANCES`.")
		p.Risks = append(p.Risks, "An instance that is stopped loses its local NVMe and, without an Elastic IP, its public address.")
	}
	if l.Changed("host.bandwidth_weighting") {
		needsInstance = true
		to := l.After.Host.BandwidthWeighting
		if to == "" {
			to = "default"
		}
		fmt.Fprintf(&b, "\n# %s\n# It costs nothing, and the network has that much less. The instance is stopped for this.\nfor instance in ${INSTANCES:?ids of the instances}; do\n\tweigh \"$instance\" %s\ndone\n", l.Because("host.bandwidth_weighting"), to)
		p.Applies = append(p.Applies, "host.bandwidth_weighting")
		p.Restarts = append(p.Restarts, "each instance is stopped and started, because its bandwidth is weighted anew. Do one member at a time.")
		p.Risks = append(p.Risks, "host.bandwidth_weighting: the network's baseline loses what EBS gains (Amazon EC2 user guide, \"EC2 instance bandwidth weighting configuration\"): look at the network's use first.")
	}
	if b.Len() == 0 {
		return nil, nil
	}
	if needsInstance {
		ids.WriteString("#   INSTANCES        ids of the instances that run the database, separated by spaces\n")
	}
	text := "#!/bin/bash\n" + l.Head("#", "Commands of the AWS CLI for EBS volumes.", "", "It reads these environment variables:") + ids.String() +
		"# and those of the AWS CLI: AWS_PROFILE, AWS_REGION. Run it with --dry-run first.\nset -euo pipefail\n\n" + withFunctions(awsScript) + "\nlayout() {" + indented(b.String()) + "}\n\nmain \"$@\"\n"
	p.Files = []File{{Path: "aws/volumes.sh", Text: []byte(text), Mode: executable}}
	p.Apply = append([]string{"`aws/volumes.sh --dry-run` shows which variables it needs and what it would do; then run it without. It can be run again: it leaves alone what is already done, and refuses a volume whose last modification is not completed."}, p.Apply...)
	p.Verify = []string{"`aws ec2 describe-volumes --volume-ids ...` shows the new figures. In the state *optimizing*, performance is at least that of the old figures and not always that of the new ones."}
	p.Back = []string{"The same commands with the old values (they are in the script's comments), once the modification is completed. EBS takes at most four modifications of a volume in 24 hours."}
	p.Risks = append(p.Risks, ebsRisks(l)...)
	return p, nil
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

// order returns the figures of a volume for the script's functions: type, GiB, IOPS, MiB/s; 0 for
// those not chosen. A modified volume gets all of them too: figures left out would keep their old
// values.
func (d *disk) order() string {
	return fmt.Sprintf("%s %d %d %d", d.after.kind, d.after.gib, d.after.iops, d.after.rate)
}
