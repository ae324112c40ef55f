package emit

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/shellword"
)

// readme writes the README: what the files change, in which order to apply them, how to verify, how to
// go back, and the risks.
func readme(transition *Transition, parts []*Part, r *Result) []byte {
	var page strings.Builder
	fmt.Fprintf(
		&page, "# A layout for %s\n\nWritten by `plimsoll emit` from `%s`. Nothing has been applied yet. These files contain only the changes.\n",
		transition.title(), strings.ReplaceAll(oneLine(transition.File), "`", ""))
	page.WriteString("\n## What changes\n\n| what | from | to | by |\n|---|---|---|---|\n")

	for i, c := range transition.changes {
		by := strings.Join(r.By[i], ", ")
		if by == "" {
			by = "**none of these files**: " + otherwise(transition, c)
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", c.Path, cell(c.From), cell(c.To), by)
	}

	if len(transition.Sets) > 0 {
		page.WriteString("\nWhat the model predicts:\n\n    plimsoll simulate " + shellword.Quote(oneLine(transition.File)))
		for _, set := range transition.Sets {
			page.WriteString(" \\\n      --set " + shellword.Quote(oneLine(set)))
		}
		page.WriteString("\n")
	}

	section := func(title, before string, of func(*Part) []string, otherwise string) {
		page.WriteString("\n## " + title + "\n")
		if before != "" {
			page.WriteString("\n" + before + "\n")
		}

		n := 0
		seen := map[string]bool{}
		for _, p := range parts {
			// Several targets may share an instruction or a risk: print it once.
			for _, text := range of(p) {
				if seen[text] {
					continue
				}
				seen[text] = true
				n++
				fmt.Fprintf(&page, "\n%d. **%s**: %s\n", n, p.target, indent(text))
			}
		}

		if n == 0 {
			page.WriteString("\n" + otherwise + "\n")
		}
	}

	first := "First record the current state: `plimsoll record SOURCE... --for 30m --out before`, under the load that causes the problem."
	verify := "Under the same load: `plimsoll record SOURCE... --for 30m --out after`, then `plimsoll prove before after` shows what improved, by how much and with what confidence."
	back := ""
	if transition.isNew {
		first, back = transition.machines()
		verify = "Under the expected load: `plimsoll diagnose SOURCE... --for 10m` shows whether writes stall, and how much headroom each limit has."
	}

	section("Apply", "Run all commands in the folder of this file. "+ways(parts)+first,
		func(p *Part) []string { return p.Apply }, "Nothing.")

	section("Verify",
		verify+goals(transition),
		func(p *Part) []string { return p.Verify }, "Nothing more.")

	slices.Reverse(parts) // undo in reverse order: the log moves back before its disk is detached
	section("Go back", "", func(p *Part) []string { return p.Back }, "Nothing more.")
	slices.Reverse(parts)
	if back != "" {
		page.WriteString("\n" + back + "\n")
	}
	section("What restarts", "", func(p *Part) []string { return p.Restarts }, "Nothing.")
	section("Risks", "", func(p *Part) []string { return p.Risks }, "None known.")
	page.WriteString("\n`.plimsoll-emit.json` contains the files' checksums. `plimsoll emit --out` uses them to recognise files that you have edited, and does not overwrite them.\n")

	return []byte(page.String())
}

// ways returns a warning if targets are alternatives: using more than one would apply a change twice.
func ways(parts []*Part) string {
	var same []string
	for _, p := range parts {
		if c, ok := carriers[p.target]; ok && len(c.providers) > 0 {
			same = append(same, p.target)
		}
	}
	if len(same) < 2 {
		return ""
	}
	return "For volumes, " + strings.Join(same, " and ") +
		" make the same change: **use only the tool that created the volumes.**\n\n"
}

// goals lists the scenario's objectives.
func goals(l *Transition) string {
	var out []string
	for _, bound := range l.After.Objective.Bounds() {
		out = append(out, fmt.Sprintf("%s within %s", bound.Name, bound.Most))
	}
	if len(out) == 0 {
		return ""
	}
	return " The objective: " + strings.Join(out, ", ") + "."
}

// otherwise returns how to make a change that none of the files applies.
func otherwise(transition *Transition, change Change) string {
	// Volumes first: their paths would also match the general entries below.
	for _, d := range transition.disks {
		if !change.within(d.path) {
			continue
		}

		switch {
		case d.action == removed:
			return "stop the engine, move the volume's contents back to the data volume, then delete the volume"
		case d.isNew() && d.member > 0:
			return "--target lvm, terraform or " + transition.rentedFrom() +
				"; in a StatefulSet, a claim template applies to every member: for a single member, create a PersistentVolumeClaim with that member's claim name before its pod"
		case d.isNew():
			return "--target lvm, terraform, " + transition.rentedFrom() + " or kubernetes"
		}

		return "--target terraform, " + transition.rentedFrom() + " or kubernetes"
	}

	for _, by := range []struct{ path, text string }{
		{"workload", "change it in the application"},
		{"host.dirty_background_bytes", "--target sysctl"}, {"host.dirty_background_ratio", "--target sysctl"},
		{"host.dirty_bytes", "--target sysctl"}, {"host.dirty_ratio", "--target sysctl"},
		{"host.dirty_expire", "--target sysctl"}, {"host.writeback_interval", "--target sysctl"},
		{"host.instance", transition.instanceBy()},
		{"host.bandwidth_weighting", "--target aws; in Terraform, network_performance_options of your aws_instance"},
		{"host.cores", "set by the instance, or by the container's CPU limit"},
		{"host.memory", "set by the instance, or --target kubernetes --statefulset FILE"},
		{"host.filesystem", "needs a new volume: --target lvm or kubernetes"},
		{"host.mount_options", "for new volumes, in fstab or a StorageClass (--target lvm or kubernetes); for a mounted volume, use mount -o remount, then change its line in fstab"},
		{"host.scheduler", "--target udev"}, {"host.nr_requests", "--target udev"},
		{"host.wbt_lat_usec", "--target udev, or kubernetes"},
		{"host", "a setting of the block layer in /sys/block/DEVICE/queue"},
	} {
		if !change.within(by.path) {
			continue
		}
		return by.text
	}

	// The engine's own instructions for settings outside its configuration files take precedence.
	for _, by := range transition.deployment.Elsewhere {
		if change.within(strings.TrimSuffix(transition.setting(by.Setting), ".")) {
			return by.Text
		}
	}

	for _, t := range transition.targets {
		if t.engine != "" && change.within("engine."+t.engine) {
			return "--target " + t.name + ", if it is one of the engine's settings; otherwise it only affects the model"
		}
	}

	return "it only affects the model"
}

// instanceBy returns what changes the machine's type, if no target does.
func (l *Transition) instanceBy() string {
	if l.isNew {
		return "created first, see *Apply*"
	}
	return "--target aws, or --target kubernetes --statefulset FILE; in Terraform, instance_type of your aws_instance"
}

// cell escapes text for a Markdown table.
func cell(s string) string {
	if s == "" {
		return "-"
	}
	return strings.NewReplacer("|", "\\|", "`", "'").Replace(oneLine(s))
}

// indent indents the further lines of a list item.
func indent(s string) string {
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteByte('\n')
			if line != "" {
				b.WriteString("    ")
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
