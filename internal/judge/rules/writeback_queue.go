package rules

import (
	"math"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/record/timeline"
)

// Throttled is the measured effect of the kernel's writeback throttling on an engine's writes on a
// file system: the p99 in seconds with and without it.
type Throttled struct {
	Filesystem string
	OnS, OffS  float64
	Where      string // the volume and the load
	// Disagree means that repeated runs showed the opposite, so there is no conclusion.
	Disagree bool
}

// Helps reports whether the throttling made the writes clearly faster.
func (x Throttled) Helps() bool { return !x.Disagree && x.OnS < 0.8*x.OffS }

// Thresholds of writeback throttling.
const (
	ThrottlingWrite = 0.5 // of the device's requests are writes
	// With throttling, a volume saturated by the page cache had 9 requests in its queue, without it
	// 108. If the setting is not recorded, a queue length in between decides; a shorter queue does
	// not hold others up.
	ThrottledQueueMost = 48
)

// FileSystem is the file system on a device according to the host's mounts ("mount./data" = "xfs rw
// /dev/nvme1n1"), or the one that a lab or a simulation uses on all volumes; "" if neither is
// known.
func (c *Case) FileSystem(device string) string {
	for name, value := range c.Facts {
		fields := strings.Fields(value)
		if strings.HasPrefix(name, "mount.") && len(fields) > 1 && path.Base(fields[len(fields)-1]) == device {
			return fields[0]
		}
	}
	return c.Facts["filesystem"]
}

// WritebackQueue is the median number of requests in a device's queue while writes of the page
// cache saturated it, and for how many cells they did; without such cells, NaN and 0.
func (c *Case) WritebackQueue(device string, saturated timeline.Mask) (queue float64, cells int) {
	if !(timeline.Max(c.DirtyOrWriteback()) >= MinBacklogBytes) {
		return math.NaN(), 0
	}
	writes, ops := c.For(DiskWrites, "device", device), c.For(DiskOps, "device", device)
	at := timeline.Known(c.For(DiskQueue, "device", device)).And(saturated)
	for k := range at {
		at[k] = at[k] && k < len(writes) && k < len(ops) && writes[k] >= ThrottlingWrite*ops[k]
	}
	return timeline.Quantile(timeline.At(c.For(DiskQueue, "device", device), at), 0.5), at.Count()
}

// LongQueue is a queue of page-cache writes that is too long for the kernel's throttling to be on.
const LongQueue = ThrottledQueueMost

// Throttling returns the file systems on which measurements of the throttling with an engine agree,
// and whether it helped there.
func Throttling(measured []Throttled) map[string]bool {
	out := map[string]bool{}
	for _, x := range measured {
		if !x.Disagree {
			out[x.Filesystem] = x.Helps()
		}
	}
	return out
}

// DirtyOrWriteback is the part of the page cache that waits to be written or is being written.
func (c *Case) DirtyOrWriteback() []float64 {
	out := slices.Clone(c.One(MemoryDirty))
	for k, x := range c.One(MemoryWriteback) {
		if k < len(out) && x > out[k] {
			out[k] = x
		}
	}
	return out
}
