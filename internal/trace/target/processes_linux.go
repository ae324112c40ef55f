package target

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// processes are those of a choice that is no folder.
func processes(c Choice) ([]int, error) {
	switch {
	case c.PID != 0:
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", c.PID)); err != nil {
			return nil, &Error{fmt.Sprintf("there is no process %d", c.PID), "pgrep NAME lists some, or use --command NAME"}
		}
		return []int{c.PID}, nil
	case c.Unit != "":
		return unit(c.Unit)
	}
	return command(c.Command)
}

// command finds processes by their name, the first word of their command line, or its base.
func command(name string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		comm, err := os.ReadFile("/proc/" + e.Name() + "/comm")
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline") // a thread of the kernel has none
		first, _, _ := strings.Cut(string(line), "\x00")
		if len(line) > 0 && (strings.TrimSpace(string(comm)) == name || first == name || filepath.Base(first) == name) {
			out = append(out, pid)
		}
	}
	if len(out) == 0 {
		return nil, &Error{fmt.Sprintf("no process runs the command %q", name), "ps -e lists them; the name is that of the program, without arguments"}
	}
	slices.Sort(out)
	return out, nil
}

// unit finds the processes of a systemd unit, by its cgroup.
func unit(name string) ([]int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, "systemctl", "show", "-p", "ControlGroup", "--value", "--", name).Output()
	if err != nil {
		return nil, &Error{fmt.Sprintf("systemctl does not answer for unit %s: %v", name, err), "use --pid or --command"}
	}
	group := strings.TrimSpace(string(text))
	if group == "" || group == "/" {
		return nil, &Error{fmt.Sprintf("unit %s does not run", name), "systemctl list-units lists them"}
	}
	var out []int
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"} {
		err := filepath.WalkDir(root+group, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.Name() != "cgroup.procs" {
				return nil // gone in between
			}
			pids, err := os.ReadFile(path)
			if err != nil {
				return nil
			}
			for _, word := range strings.Fields(string(pids)) {
				if pid, err := strconv.Atoi(word); err == nil {
					out = append(out, pid)
				}
			}
			return nil
		})
		if err == nil && len(out) > 0 {
			slices.Sort(out)
			return slices.Compact(out), nil
		}
	}
	return nil, &Error{fmt.Sprintf("unit %s has no processes", name), "systemctl status " + name}
}

// Group is a process's cgroup: the deepest that any hierarchy names; "" if it is the root or the
// process is gone.
func Group(pid uint32) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return ""
	}
	best := ""
	for line := range strings.Lines(string(text)) {
		// 0::/system.slice/mongod.service
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && strings.Count(parts[2], "/") > strings.Count(best, "/") && parts[2] != "/" {
			best = parts[2]
		}
	}
	return best
}
