//go:build linux

package run

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/model/scenario"
)

// settings returns the kernel's write-back limits as they would be on the scenario's machine. The
// scenario's ratios refer to its own memory, not this machine's, so they are set in bytes, computed
// as in package linux.
func settings(h *scenario.Host) map[string]string {
	limit, background := h.Dirty, h.DirtyBackground

	// As in the kernel, a limit in bytes takes precedence over a ratio.
	if limit == 0 {
		limit = units.Size(float64(h.Memory) * float64(h.DirtyRatio))
	}

	if background == 0 {
		background = units.Size(float64(h.Memory) * float64(h.DirtyBackgroundRatio))
	}

	if background >= limit { // the kernel does the same (domain_dirty_limits)
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

// A processor is the time for which all CPUs have been busy, and their total time, in ticks.
type processor struct{ busy, all int64 }

// cpu reads the sum over all CPUs.
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
		err = errors.New("no CPU times in /proc/stat")
	}

	return p, err
}

// counters are a block device's requests, bytes and seconds, counted as in iostat.
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

// queueFacts returns a device's block layer settings, in the form used by package record/host,
// under the volume's name. They may differ from the scenario's because the kernel may have rejected
// some.
func queueFacts(device, volume string) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"scheduler", "nr_requests", "wbt_lat_usec"} {
		if value, err := blockdev.QueueSetting(device, name); err == nil {
			out[name+"."+volume] = value
		}
	}
	return out
}
