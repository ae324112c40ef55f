//go:build linux

package run

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/procfs"
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

	centiseconds := func(d units.Duration) string {
		return strconv.FormatInt(int64(d.Std()/(10*time.Millisecond)), 10)
	}
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
	n, _ := procfs.Memory("MemTotal")
	return n
}

// A processor is the time that all cores have been busy, and their total time, in ticks.
type processor struct{ busy, all int64 }

// cpu reads the sum of all cores.
func cpu() (p processor, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return p, err
	}

	err = procfs.Stat(string(text), func(core string, ticks []uint64) {
		if core != "" {
			return
		}
		for i, t := range ticks {
			p.all += int64(t)
			if mode := procfs.CPUModes[i]; mode != "idle" && mode != "iowait" {
				p.busy += int64(t)
			}
		}
	}, func(string, uint64) {})
	if err == nil && p.all == 0 {
		err = errors.New("/proc/stat has no times of all cores")
	}

	return p, err
}

// counters are a block device's requests, bytes and seconds, as iostat counts them.
type counters struct {
	reads, writes, readBytes, writtenBytes  float64
	readTime, writeTime, busyTime, weighted float64
}

// diskstat reads a block device's counters.
func diskstat(device string) (counters, error) {
	c, err := procfs.DiskStat(device)
	if err != nil {
		return counters{}, err
	}
	return counters{
		reads: c.Value(0), readBytes: c.Value(2), readTime: c.Value(3), writes: c.Value(4),
		writtenBytes: c.Value(6), writeTime: c.Value(7),
		busyTime: c.Value(9), weighted: c.Value(10),
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
