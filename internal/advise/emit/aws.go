package emit

import (
	"fmt"
	"strings"
)

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
func (l *Transition) awsMachine(p *Part, c *cloud, b *strings.Builder) bool {
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

	fmt.Fprintf(b, "\n%s\n# This stops the instance: the data on its local NVMe disks is lost.\n", strings.Join(why, "\n"))
	c.begin(b)
	fmt.Fprintf(b, "\tstopped \"$instance\" %s %s  %s %s\ndone\n", was[0], will[0], was[1], will[1])
	return true
}

// weighting returns the provider's name of a bandwidth weighting.
func weighting(w string) string {
	if w == "" {
		return "default"
	}
	return w
}
