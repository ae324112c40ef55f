// Package procfs parses the kernel's files in /proc, /sys/block and cgroups. All packages that read
// these files use it, so each format and its quirks are handled in one place.
//
// Mounts are parsed by github.com/moby/sys/mountinfo. The other formats are parsed here, not by
// github.com/prometheus/procfs: that library opens each file again for every read and scans fields
// by reflection (see BenchmarkLibrary), and github.com/containerd/cgroups links a D-Bus client.
package procfs

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// SectorBytes is the kernel's unit of I/O in /proc/diskstats, regardless of the device's own
	// sector size.
	SectorBytes = 512
	// UserHz is the number of ticks per second in /proc/stat and /proc/PID/stat: USER_HZ, which is
	// 100 on every architecture that Linux still supports.
	UserHz = 100

	kib = 1024
)

// Pairs yields the name and the value of each line of a file such as /proc/vmstat ("nr_dirty 250"),
// a cgroup's memory.stat, /proc/meminfo ("Dirty:     1000 kB") or /proc/PID/status.
func Pairs(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			end := strings.IndexAny(line, " \t")
			if end > 0 && !yield(strings.TrimSuffix(line[:end], ":"), strings.TrimSpace(line[end:])) {
				return
			}
		}
	}
}

// Meminfo reads the text of /proc/meminfo and calls visit with each wanted value in bytes.
func Meminfo(text string, wanted func(name string) bool, visit func(name string, bytes int64)) error {
	for name, value := range Pairs(text) {
		if !wanted(name) {
			continue
		}
		// 53 bits, because the value becomes a float64 sample.
		n, err := strconv.ParseInt(strings.TrimSuffix(value, " kB"), 10, 53)
		if err != nil || n < 0 {
			return fmt.Errorf("/proc/meminfo: %s is %q: want a number of kB", name, value)
		}
		visit(name, n*kib)
	}
	return nil
}

// Memory returns one value of this machine's /proc/meminfo, in bytes.
func Memory(name string) (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	return memory(string(text), name)
}

func memory(text, name string) (int64, error) {
	bytes := int64(-1)
	err := Meminfo(text, func(n string) bool { return n == name }, func(_ string, v int64) { bytes = v })
	if err == nil && bytes < 0 {
		err = fmt.Errorf("/proc/meminfo has no %s", name)
	}
	return max(bytes, 0), err
}

// CPUModes are the times of a CPU in /proc/stat, in order. The guest times that follow them are
// already included in user and nice.
var CPUModes = []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}

// Stat reads the text of /proc/stat. It calls cpu for the sum of all CPUs (name "") and for each
// CPU ("0"), with the ticks of those CPUModes that the kernel reports, and count for each line with
// a single number, such as procs_blocked.
func Stat(text string, cpu func(name string, ticks []uint64), count func(name string, value uint64)) error {
	var buffer [8]uint64
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "intr ") || strings.HasPrefix(line, "softirq ") {
			continue // thousands of numbers; only their sum comes first
		}

		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}

		name, isCPU := strings.CutPrefix(f[0], "cpu")
		if !isCPU {
			v, err := strconv.ParseUint(f[1], 10, 64)
			if err != nil {
				return fmt.Errorf("/proc/stat: %s is %q: want a number", f[0], f[1])
			}
			count(f[0], v)
			continue
		}

		// Older kernels report fewer modes; guest times after steal are ignored.
		ticks := buffer[:min(len(f)-1, len(buffer))]
		for i := range ticks {
			v, err := strconv.ParseUint(f[1+i], 10, 64)
			if err != nil {
				return fmt.Errorf("/proc/stat: %s %s is %q: want a number", f[0], CPUModes[i], f[1+i])
			}
			ticks[i] = v
		}

		cpu(name, ticks)
	}

	return nil
}

// Pressure reads a file of /proc/pressure or a cgroup's. It calls visit with the seconds for which
// "some" tasks waited, and for which "full", that is all, did.
func Pressure(text string, visit func(kind string, seconds float64)) error {
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind != "some" && kind != "full" {
			continue
		}
		_, total, ok := strings.Cut(rest, "total=")
		v, err := strconv.ParseUint(total, 10, 64)
		if !ok || err != nil {
			return fmt.Errorf("%q has no total in microseconds", strings.TrimSpace(line))
		}
		visit(kind, float64(v)/1e6)
	}
	return nil
}

// A Membership is the cgroup of a process in one hierarchy.
type Membership struct {
	// Controllers are the hierarchy's controllers in version 1, separated by commas; "" means
	// version 2.
	Controllers string
	// Path is the cgroup's path below the mount point of the hierarchy:
	// "/system.slice/mongod.service".
	Path string
}

// Memberships reads the text of /proc/PID/cgroup (cgroups(7)).
func Memberships(text string) []Membership {
	var out []Membership
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && strings.HasPrefix(f[2], "/") {
			out = append(out, Membership{f[1], f[2]})
		}
	}
	return out
}

// A Process holds the fields of /proc/PID/stat that are used here.
type Process struct {
	Name   string // at most 15 bytes, any bytes
	State  string // "Z" is a zombie
	Parent int
	Flags  uint64
	// Start is the time since boot in ticks, as text. Together with the id it identifies a process.
	Start string
}

// KernelThread reports whether the process is a kernel thread (PF_KTHREAD).
func (p *Process) KernelThread() bool { return p.Flags&0x200000 != 0 }

var errProcess = errors.New("not the format of /proc/PID/stat")

// ParseProcess reads the text of /proc/PID/stat (proc_pid_stat(5)). The name is in parentheses and may
// contain any character.
func ParseProcess(text string) (p Process, err error) {
	// The last parenthesis ends the name, because the name itself may contain parentheses.
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return p, errProcess
	}

	// Fields after the name are numbered from 3 in proc(5): f[0] is the state, f[19] is starttime
	// (22).
	f := strings.Fields(text[end+1:])
	if len(f) < 20 {
		return p, errProcess
	}

	p = Process{Name: text[open+1 : end], State: f[0], Start: f[19]}
	if p.Parent, err = strconv.Atoi(f[1]); err != nil {
		return Process{}, errProcess
	}

	if p.Flags, err = strconv.ParseUint(f[6], 10, 64); err != nil {
		return Process{}, errProcess
	}

	return p, nil
}

// ProcessOf reads the process with an id. proc is the folder, usually "/proc".
func ProcessOf(proc string, pid int) (Process, error) {
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return Process{}, err
	}
	return ParseProcess(string(text))
}

// PIDs returns the ids of the processes under a folder, usually "/proc", in order.
func PIDs(proc string) ([]int, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Comm returns the name of a process (of its first thread), or "" if the process is gone.
func Comm(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(text))
}

// octal undoes the octal escapes that the kernel writes in mountinfo (seq_file's " \t\n\\").
var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// Unescape undoes the escapes in an option of a [Mount]; the library handles the other fields.
func Unescape(option string) string { return octal.Replace(option) }
