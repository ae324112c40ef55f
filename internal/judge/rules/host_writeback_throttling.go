package rules

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
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

const (
	throttlingShare = 0.25 // of the stalled time with a saturated device
	throttlingWrite = 0.5  // of the device's requests are writes
	// With throttling, a volume saturated by the page cache had 9 requests in its queue, without it
	// 108. If the setting is not recorded, a queue length in between decides; a shorter queue does
	// not hold others up.
	longQueue   = 48
	longInCells = 0.5 // at least this share of the saturated cells
	notRecorded = 0.5 // of the weight, if the setting is unknown
)

func hostWritebackThrottling() Rule {
	r := Rule{ID: "host/writeback-throttling", Title: "Writeback throttling is off", Kind: Cause,
		Traced:  behindBuffered,
		When:    saturated,
		Needs:   []*Signal{MemoryDirty, DiskQueue, DiskWrites},
		NoAlert: "whether it is off is a setting, not a series",
		Cause:   "The kernel can bound how many of the page cache's writes are in flight at a device (writeback throttling, block/blk-wbt.c). If it is off, a flush fills the whole queue, and a log's fdatasync or the read of a page waits behind all of it.",
		Words: Words{
			"unknown":     "Writeback throttling may be off",
			"off":         "Writeback throttling is off on {{.device}} (wbt_lat_usec 0). In the stalled time its queue held {{.queue}} requests (median while saturated), {{.writes}} of them writes, and each sync or read waited behind them.",
			"not known":   "In the stalled time the queue of {{.device}} held {{.queue}} requests (median while saturated), {{.writes}} of them writes, and each sync or read waited behind them. With the kernel's writeback throttling a comparable run had 9. These sources do not show whether it is on: check /sys/block/{{.device}}/queue/wbt_lat_usec (0 is off; if the file is missing or unreadable, the kernel does not support it).",
			"closing":     "The queue looks as if the kernel's writeback throttling were off: check /sys/block/{{.device}}/queue/wbt_lat_usec.",
			"measured":    "Measured for {{.engine}} on {{.filesystem}} ({{.where}}): write p99 {{.off}} without it, {{.on}} with it.",
			"file system": "These sources do not show the file system.",
		},
		Advice: map[string]Advice{"on": {
			Summary: "Turn it on: write 2000 to /sys/block/{{.device}}/queue/wbt_lat_usec",
			Expect:  "a flush keeps few requests in flight, so syncs and reads get through; it needs no restart and costs no money",
			TradeOff: "fewer and smaller writes: a restore or a bulk load takes longer, and at a volume's IOPS cap less is written: if dirty pages grow from checkpoint to checkpoint, writes stall again (measured: after six minutes).{{with .harmed}} It does not help every combination of engine and file system: {{.}}.{{end}} " +
				"The bfq scheduler turns it off again, and some 4.18 kernels hang with it",
			Decisive: true, Do: []*Remedy{throttleWriteback}}}}

	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		if !c.Stall.Any() || !(timeline.Max(timeline.At(c.dirtyOrWriteback(),
			c.Stall.Cells.Widen(c.Cells(backlogLookBackS*1e9), 0))) >= minBacklogBytes) {
			return nil
		}
		var out []Finding
		for _, h := range held {
			if f, ok := r.unthrottled(c, h); ok {
				out = append(out, f)
			}
		}
		return out
	}

	return r
}

// unthrottled judges a saturated device.
func (r Rule) unthrottled(c *Case, held timeline.Track) (Finding, bool) {
	dev := held.Labels.Get("device")
	cells := timeline.Known(held.Values).And(c.Stall.Cells)
	share := Share(cells, c.Stall.Cells)
	queue, writes := timeline.At(c.For(DiskQueue, "device", dev), cells),
		timeline.At(c.For(DiskWrites, "device", dev), cells)

	written := timeline.Sum(writes) / timeline.Sum(timeline.At(c.For(DiskOps, "device", dev), cells))
	if share < throttlingShare || !(written >= throttlingWrite) || c.unrelated(timeline.Known(held.Values)) {
		return Finding{}, false
	}

	// A recorded setting decides; without one, only a very long queue suggests that throttling is
	// off.
	setting := c.Facts["wbt_lat_usec."+dev]
	long := timeline.Where(c.For(DiskQueue, "device", dev), func(x float64) bool { return x >= longQueue })
	if setting != "" && setting != "0" || setting == "" && Share(long, cells) < longInCells {
		return Finding{}, false
	}

	// Without a measurement for this engine and file system, or with one that disagrees, say
	// nothing.
	measured := c.throttled(dev)
	if len(measured) == 0 || slices.ContainsFunc(measured, func(m engineThrottled) bool { return !m.Helps() }) {
		return Finding{}, false
	}

	f := r.Finding(dev)
	f.Weight = share
	said := Values{"device": Called(dev), "queue": Number(timeline.Quantile(queue, 0.5)),
		"writes": Part(written)}

	if setting == "0" {
		f.Say("off", said)
	} else {
		f.Weight *= notRecorded
		f.Entitle("unknown", nil)
		f.Say("not known", said)
		f.Close("closing", said)
	}

	f.Severity = c.SeverityOf(f.Weight)
	if setting == "" && f.Severity == Critical {
		f.Severity = Warning
	}

	f.Windows = c.Windows(cells.Close(1))
	for _, m := range measured {
		f.Say("measured", Values{"engine": Called(m.product), "filesystem": Called(m.Filesystem),
			"where": Called(m.Where), "off": Seconds(m.OffS), "on": Seconds(m.OnS)})
	}

	if len(measured) > 1 {
		f.Say("file system", nil)
	}

	f.Evidence = []Evidence{
		c.Figure("requests in the queue of "+dev+" while stalled and saturated, median", DiskQueue,
			timeline.Quantile(queue, 0.5), "requests", cells),
		c.Figure("share of the stalled time in which it was saturated", DiskBusy, share, "ratio", c.Stall.Cells),
		c.Figure("write await meanwhile, median", DiskWriteAwait,
			timeline.Quantile(timeline.At(c.For(DiskWriteAwait, "device", dev), cells), 0.5), "seconds", cells),
	}

	for _, name := range []string{"wbt_lat_usec.", "nr_requests.", "scheduler."} {
		if v := c.Facts[name+dev]; v != "" {
			f.Evidence = append(f.Evidence, c.Remark(name+dev+" = "+v))
		}
	}

	f.Evidence = slices.DeleteFunc(f.Evidence, func(e Evidence) bool { return e.Metric != "" && e.Value == nil })
	f.Advise("on", Values{"device": Called(dev), "harmed": c.Pack.harmed()})
	return f, true
}

// engineThrottled is a measurement with the engine's display name.
type engineThrottled struct {
	Throttled
	product string
}

// throttled are the measurements for the recording's engines on a device's file system, or on all
// file systems if it is unknown.
func (c *Case) throttled(device string) []engineThrottled {
	fs := c.FileSystem(device)
	var out []engineThrottled
	for _, e := range c.Pack.Engines() {
		if !slices.Contains(c.Engines, e.Database) {
			continue
		}
		for _, x := range e.Throttled {
			if fs == "" || x.Filesystem == fs {
				out = append(out, engineThrottled{x, e.Product})
			}
		}
	}
	return out
}

// harmed names the combinations of engine and file system that the throttling made worse.
func (p *Pack) harmed() Value {
	var out []string
	for _, e := range p.Engines() {
		for _, x := range e.Throttled {
			switch {
			case x.Disagree:
				out = append(out, fmt.Sprintf("%s on %s was faster with it in some runs and slower in others", e.Product,
					x.Filesystem))
			case !x.Helps():
				out = append(out, fmt.Sprintf("%s on %s had a p99 of %s with it and %s without", e.Product, x.Filesystem,
					units.Seconds(x.OnS), units.Seconds(x.OffS)))
			}
		}
	}
	return Value(strings.Join(out, "; "))
}

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
	if !(timeline.Max(c.dirtyOrWriteback()) >= minBacklogBytes) {
		return math.NaN(), 0
	}
	writes, ops := c.For(DiskWrites, "device", device), c.For(DiskOps, "device", device)
	at := timeline.Known(c.For(DiskQueue, "device", device)).And(saturated)
	for k := range at {
		at[k] = at[k] && k < len(writes) && k < len(ops) && writes[k] >= throttlingWrite*ops[k]
	}
	return timeline.Quantile(timeline.At(c.For(DiskQueue, "device", device), at), 0.5), at.Count()
}

// LongQueue is a queue of page-cache writes that is too long for the kernel's throttling to be on.
const LongQueue = longQueue

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

// dirtyOrWriteback is the part of the page cache that waits to be written or is being written.
func (c *Case) dirtyOrWriteback() []float64 {
	out := slices.Clone(c.One(MemoryDirty))
	for k, x := range c.One(MemoryWriteback) {
		if k < len(out) && x > out[k] {
			out[k] = x
		}
	}
	return out
}
