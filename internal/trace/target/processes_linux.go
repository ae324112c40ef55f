package target

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/trace/events"
	"plimsoll/internal/trace/wait"
)

// processes returns the processes of a choice other than a folder.
func processes(c Choice) ([]int, error) {
	switch {
	case c.PID != 0:
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", c.PID)); err != nil {
			return nil, &Error{fmt.Sprintf("no process has ID %d",
				c.PID), "find it with pgrep NAME, or use --command NAME"}
		}
		return []int{c.PID}, nil
	case c.Unit != "":
		return unit(c.Unit)
	}
	return command(c.Command)
}

// command finds processes by name, by the first word of their command line, or by its base name.
func command(name string) ([]int, error) {
	pids, err := procfs.PIDs("/proc")
	if err != nil {
		return nil, err
	}

	var out []int
	for _, pid := range pids {
		if pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // kernel threads have none
		first, _, _ := strings.Cut(string(line), "\x00")
		if len(line) > 0 && (procfs.Comm(pid) == name || first == name || filepath.Base(first) == name) {
			out = append(out, pid)
		}
	}

	if len(out) == 0 {
		return nil, &Error{fmt.Sprintf("no process runs the command %q",
			name), "ps -e lists commands; give the program's name without arguments"}
	}

	return out, nil
}

// unit finds the processes of a systemd unit through its cgroup.
func unit(name string) ([]int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, "systemctl", "show", "-p", "ControlGroup", "--value", "--",
		name).Output()
	if err != nil {
		return nil, &Error{fmt.Sprintf("systemctl cannot show unit %s: %v", name,
			err), "use --pid or --command"}
	}

	group := strings.TrimSpace(string(text))
	if group == "" || group == "/" {
		return nil, &Error{fmt.Sprintf("unit %s is not running", name), "systemctl list-units lists running units"}
	}

	var out []int

	// cgroup v2, then the hybrid and legacy hierarchies.
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"} {
		err := filepath.WalkDir(root+group, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return fs.SkipDir // the cgroup was removed in the meantime
			}
			if d.Name() != "cgroup.procs" {
				return nil
			}

			pids, _ := os.ReadFile(path) // empty if it was removed in the meantime
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

// writersMax bounds the number of open files reported.
const writersMax = 50_000

// Writers returns the files on some file systems that processes currently have open for writing,
// with their names: there is no other way to know who dirtied pages before the trace began.
func Writers(on []events.Mount, at int64) []events.File {
	pids, err := procfs.PIDs("/proc")
	if err != nil {
		return nil
	}

	var out []events.File
	for _, pid := range pids {
		dir := fmt.Sprintf("/proc/%d/fd/", pid)
		fds, _ := os.ReadDir(dir) // empty if the process has ended
		for _, fd := range fds {
			f := opened(dir+fd.Name(), on)
			if f == nil {
				continue
			}
			f.Task = events.Task{PID: uint32(pid), TID: uint32(pid), Comm: Name(uint32(pid))}
			f.At = at
			if out = append(out, *f); len(out) == writersMax {
				return out
			}
		}
	}

	return out
}

// opened returns the file behind a link in a process's fd folder; nil if it is not a regular file
// on one of the file systems.
func opened(link string, on []events.Mount) *events.File {
	var st unix.Stat_t
	if unix.Stat(link, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}

	id := events.FileID{Dev: kernelDev(st.Dev), Inode: st.Ino}
	if !slices.ContainsFunc(on, func(m events.Mount) bool { return m.Dev == id.Dev }) {
		return nil
	}

	path, err := os.Readlink(link)
	if err != nil {
		return nil
	}

	// The link's permissions show the mode in which the file was opened.
	var l unix.Stat_t
	writes := unix.Lstat(link, &l) == nil && l.Mode&unix.S_IWUSR != 0
	return &events.File{ID: id, Path: path, Dirtied: writes}
}

// Runs reports whether a choice has processes.
func Runs(c Choice) bool {
	pids, err := processes(c)
	return err == nil && len(pids) > 0
}

// Program returns the name of a process's program, at most 15 bytes; [wait.KernelThreads] for a
// kernel thread; "" if the process is gone, or cannot be known inside a container.
func Program(pid uint32) string {
	if inContainer() {
		return ""
	}
	if p, err := procfs.ProcessOf("/proc", int(pid)); err == nil && p.KernelThread() {
		return wait.KernelThreads
	}
	return procfs.Comm(int(pid))
}

// Name returns a process's name, which is that of its first thread; "" if it is gone.
func Name(pid uint32) string {
	if inContainer() {
		return ""
	}
	return procfs.Comm(int(pid))
}

// Group returns a process's cgroup, the deepest in any hierarchy; "" if it is the root or the
// process is gone.
func Group(pid uint32) string {
	if inContainer() {
		return ""
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return ""
	}
	best := ""
	for _, m := range procfs.Memberships(string(text)) {
		if strings.Count(m.Path, "/") > strings.Count(best, "/") && m.Path != "/" {
			best = m.Path
		}
	}
	return best
}
