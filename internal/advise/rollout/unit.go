//go:build linux

package rollout

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/base/procfs"
)

// managed fails if the member's unit is not what runs it: to stop that unit would stop something else,
// or nothing.
func (m *member) managed() error {
	if m.Unit == "" || m.r.opt.command != nil || m.r.moving(m) {
		return nil // or a run that was cut off has stopped it
	}

	if _, err := os.Stat("/run/systemd/system"); err != nil { // sd_booted(3)
		return steps.Inputf("start: and stop: with shell commands",
			"%s: systemd does not run here, so it cannot stop %s", m.Name, m.Unit)
	}

	found, err := processes(m.Data)
	if err != nil {
		return err
	}

	return m.runs(found, func(pid int) string {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)) // it may have ended
		return string(text)
	})
}

// byUnit is what managed asks for, in the words of a step.
func (m *member) byUnit() string {
	if m.Unit == "" {
		return ""
	}
	return " and run by " + m.Unit
}

// runs fails if none of the processes that use the member's data is in its unit's control group
// (systemd.unit(5), cgroups(7)). A container's is another one, and its unit's processes start and stop
// it, so one in a container's scope may be right.
func (m *member) runs(found []process, cgroup func(pid int) string) error {
	unit := m.Unit
	if path.Ext(unit) != ".service" {
		unit += ".service"
	}

	var wrong error
	for _, p := range found {
		groups := unitsOf(cgroup(p.pid))
		if slices.Contains(groups, unit) {
			return nil
		}

		is := ""
		if len(groups) > 0 {
			is = groups[len(groups)-1]
		}

		switch {
		case path.Ext(is) == ".scope" && !strings.HasPrefix(is, "session-"):
			return nil
		case wrong != nil:
		case path.Ext(is) == ".service" && !strings.HasPrefix(is, "user@"):
			wrong = steps.Inputf("unit: "+strings.TrimSuffix(is, ".service")+", if that is the server",
				"%s: %s belongs to %s: to stop %s does not stop it", m.Name, p, is, unit)
		default:
			wrong = steps.Inputf("start it as its unit (systemctl start "+m.Unit+
				"), or give start: and stop: with shell commands",
				"%s: %s was not started by systemd: to stop %s does not stop it", m.Name, p, unit)
		}
	}

	return wrong
}

// unitsOf are the units in a process' control group, as /proc/PID/cgroup has it, the innermost last.
func unitsOf(cgroup string) []string {
	var out []string
	for _, m := range procfs.Memberships(cgroup) {
		if m.Controllers != "" && m.Controllers != "name=systemd" {
			continue
		}
		for part := range strings.SplitSeq(m.Path, "/") {
			if e := path.Ext(part); e == ".service" || e == ".scope" {
				out = append(out, part)
			}
		}
	}
	return out
}
