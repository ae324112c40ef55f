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

// managed fails if the member's unit does not run the member: stopping that unit would stop something
// else, or nothing.
func (m *member) managed() error {
	if m.Unit == "" || m.r.opt.command != nil || m.r.moving(m) {
		return nil // an interrupted run may have stopped the member
	}

	if _, err := os.Stat("/run/systemd/system"); err != nil { // sd_booted(3)
		return steps.Inputf("start: and stop: with shell commands",
			"%s: systemd is not running here, so it cannot stop %s", m.Name, m.Unit)
	}

	found, err := processes(m.Data)
	if err != nil {
		return err
	}

	return m.runs(found, func(pid int) string {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)) // the process may have ended
		return string(text)
	})
}

// byUnit describes the requirement of managed for a step.
func (m *member) byUnit() string {
	if m.Unit == "" {
		return ""
	}
	return " and run by " + m.Unit
}

// runs fails if none of the processes that use the member's data is in its unit's control group
// (systemd.unit(5), cgroups(7)). A container has a separate control group that its unit's processes start
// and stop, so runs accepts processes in a container's scope.
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
		// Scopes other than login sessions belong to containers.
		case path.Ext(is) == ".scope" && !strings.HasPrefix(is, "session-"):
			return nil
		// Report only the first process.
		case wrong != nil:
		case path.Ext(is) == ".service" && !strings.HasPrefix(is, "user@"):
			wrong = steps.Inputf("unit: "+strings.TrimSuffix(is, ".service")+", if that is the server",
				"%s: %s belongs to %s: stopping %s would not stop it", m.Name, p, is, unit)
		default:
			wrong = steps.Inputf("start it as its unit (systemctl start "+m.Unit+
				"), or use start: and stop: with shell commands",
				"%s: systemd did not start %s: stopping %s would not stop it", m.Name, p, unit)
		}
	}

	return wrong
}

// unitsOf returns the units in the path of a process's control group in /proc/PID/cgroup, the innermost
// last.
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
