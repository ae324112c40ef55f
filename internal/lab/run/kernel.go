//go:build linux

package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

// settings are the kernel's write-back limits as they would be on the scenario's machine. The
// scenario's ratios refer to its own memory, not this machine's, so they are set in bytes, as
// package linux computes them.
func settings(h *scenario.Host) map[string]string {
	limit, background := h.Dirty, h.DirtyBackground
	if limit == 0 {
		limit = units.Size(float64(h.Memory) * float64(h.DirtyRatio))
	}
	if background == 0 {
		background = units.Size(float64(h.Memory) * float64(h.DirtyBackgroundRatio))
	}
	if background >= limit { // the kernel does the same
		background = limit / 2
	}
	centiseconds := func(d units.Duration) string { return strconv.FormatInt(int64(d.Std()/(10*time.Millisecond)), 10) }
	return map[string]string{
		"vm.dirty_bytes":               strconv.FormatInt(int64(limit), 10),
		"vm.dirty_background_bytes":    strconv.FormatInt(int64(background), 10),
		"vm.dirty_expire_centisecs":    centiseconds(h.DirtyExpire),
		"vm.dirty_writeback_centisecs": centiseconds(h.WritebackInterval),
	}
}

// kernel returns the kernel's name and release.
func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "Linux"
	}
	text := func(b []byte) string { return string(b[:max(bytes.IndexByte(b, 0), 0)]) }
	return text(u.Sysname[:]) + " " + text(u.Release[:])
}

// memory returns this machine's memory in bytes.
func memory() int64 {
	n, _ := meminfo("MemTotal")
	return n
}

// meminfo returns a value of /proc/meminfo in bytes.
func meminfo(name string) (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/meminfo has no %s", name)
}

// A processor is the time that all cores have been busy, and their total time, in ticks.
type processor struct{ busy, all int64 }

// cpu reads the first line of /proc/stat (proc(5)): user, nice, system, idle, iowait, irq, softirq,
// steal.
func cpu() (processor, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processor{}, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return processor{}, fmt.Errorf("/proc/stat begins with %q", line)
	}
	var p processor
	for i, f := range fields[1:9] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return processor{}, fmt.Errorf("/proc/stat: %w", err)
		}
		p.all += n
		if i != 3 && i != 4 {
			p.busy += n
		}
	}
	return p, nil
}

// counters are a block device's requests, bytes and seconds, as iostat counts them.
type counters struct {
	reads, writes, readBytes, writtenBytes  float64
	readTime, writeTime, busyTime, weighted float64
}

// diskstat reads /sys/block/NAME/stat (kernel: Documentation/block/stat.rst): requests, merges,
// sectors of 512 bytes and milliseconds of reads and of writes; requests in flight; milliseconds
// with any, and weighted by how many.
func diskstat(device string) (counters, error) {
	path := filepath.Join("/sys/block", device, "stat")
	text, err := os.ReadFile(path)
	if err != nil {
		return counters{}, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 11 {
		return counters{}, fmt.Errorf("%s has %d fields, of 11 or more", path, len(fields))
	}
	var n [11]float64
	for i := range n {
		if n[i], err = strconv.ParseFloat(fields[i], 64); err != nil {
			return counters{}, fmt.Errorf("%s: %w", path, err)
		}
	}
	return counters{
		reads: n[0], readBytes: 512 * n[2], readTime: n[3] / 1e3, writes: n[4], writtenBytes: 512 * n[6], writeTime: n[7] / 1e3,
		busyTime: n[9] / 1e3, weighted: n[10] / 1e3,
	}, nil
}

func (c counters) less(o counters) counters {
	return counters{
		c.reads - o.reads, c.writes - o.writes, c.readBytes - o.readBytes, c.writtenBytes - o.writtenBytes,
		c.readTime - o.readTime, c.writeTime - o.writeTime, c.busyTime - o.busyTime, c.weighted - o.weighted,
	}
}

func (c counters) more(o counters) counters {
	return c.less(counters{}.less(o))
}

// queueFacts are a device's settings in the block layer, in the form that package record/host uses,
// under the volume's name: the kernel may have refused some of the scenario's.
func queueFacts(device, volume string) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"scheduler", "nr_requests", "wbt_lat_usec"} {
		text, err := os.ReadFile(filepath.Join("/sys/block", device, "queue", name))
		if err != nil {
			continue
		}
		value := strings.TrimSpace(string(text))
		if _, chosen, ok := strings.Cut(value, "["); ok { // "[none] mq-deadline"
			value, _, _ = strings.Cut(chosen, "]")
		}
		out[name+"."+volume] = value
	}
	return out
}
