package corerules

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	throttlingShare = 0.25 // of the stalled time with a saturated device
	longInCells     = 0.5  // at least this share of the saturated cells
	notRecorded     = 0.5  // of the weight, if the setting is unknown
)

func hostWritebackThrottling() rules.Rule {
	r := rules.Rule{ID: "host/writeback-throttling", Title: "Writeback throttling is off", Kind: rules.Cause,
		Traced:  behindBuffered,
		When:    saturated,
		Needs:   []*rules.Signal{rules.MemoryDirty, rules.DiskQueue, rules.DiskWrites},
		NoAlert: "whether it is off is a setting, not a series",
		Cause:   "The kernel can bound how many of the page cache's writes are in flight at a device (writeback throttling, block/blk-wbt.c). If it is off, a flush fills the whole queue, and a log's fdatasync or the read of a page waits behind all of it.",
		Words: rules.Words{
			"unknown":     "Writeback throttling may be off",
			"off":         "Writeback throttling is off on {{.device}} (wbt_lat_usec 0). In the stalled time its queue held {{.queue}} requests (median while saturated), {{.writes}} of them writes, and each sync or read waited behind them.",
			"not known":   "In the stalled time the queue of {{.device}} held {{.queue}} requests (median while saturated), {{.writes}} of them writes, and each sync or read waited behind them. With the kernel's writeback throttling a comparable run had 9. These sources do not show whether it is on: check /sys/block/{{.device}}/queue/wbt_lat_usec (0 is off; if the file is missing or unreadable, the kernel does not support it).",
			"closing":     "The queue looks as if the kernel's writeback throttling were off: check /sys/block/{{.device}}/queue/wbt_lat_usec.",
			"measured":    "Measured for {{.engine}} on {{.filesystem}} ({{.where}}): write p99 {{.off}} without it, {{.on}} with it.",
			"file system": "These sources do not show the file system.",
		},
		Advice: map[string]rules.Advice{"on": {
			Summary: "Turn it on: write 2000 to /sys/block/{{.device}}/queue/wbt_lat_usec",
			Expect:  "a flush keeps few requests in flight, so syncs and reads get through; it needs no restart and costs no money",
			TradeOff: "fewer and smaller writes: a restore or a bulk load takes longer, and at a volume's IOPS cap less is written: if dirty pages grow from checkpoint to checkpoint, writes stall again (measured: after six minutes).{{with .harmed}} It does not help every combination of engine and file system: {{.}}.{{end}} " +
				"The bfq scheduler turns it off again, and some 4.18 kernels hang with it",
			Decisive: true, Do: []*rules.Remedy{throttleWriteback}}}}

	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		if !c.Stall.Any() || !(timeline.Max(timeline.At(c.DirtyOrWriteback(),
			c.Stall.Cells.Widen(c.Cells(backlogLookBackS*1e9), 0))) >= rules.MinBacklogBytes) {
			return nil
		}
		var out []rules.Finding
		for _, h := range held {
			if f, ok := unthrottled(r, c, h); ok {
				out = append(out, f)
			}
		}
		return out
	}

	return r
}

// unthrottled judges a saturated device.
func unthrottled(rule rules.Rule, input *rules.Case, held timeline.Track) (rules.Finding, bool) {
	dev := held.Labels.Get("device")
	cells := timeline.Known(held.Values).And(input.Stall.Cells)
	share := rules.Share(cells, input.Stall.Cells)
	queue, writes := timeline.At(input.For(rules.DiskQueue, "device", dev), cells),
		timeline.At(input.For(rules.DiskWrites, "device", dev), cells)

	written := timeline.Sum(writes) / timeline.Sum(timeline.At(input.For(rules.DiskOps, "device", dev), cells))
	if share < throttlingShare || !(written >= rules.ThrottlingWrite) ||
		input.Unrelated(timeline.Known(held.Values)) {
		return rules.Finding{}, false
	}

	// A recorded setting decides; without one, only a very long queue suggests that throttling is
	// off.
	setting := input.Facts["wbt_lat_usec."+dev]
	long := timeline.Where(input.For(rules.DiskQueue, "device", dev), func(x float64) bool { return x >= rules.ThrottledQueueMost })
	if setting != "" && setting != "0" || setting == "" && rules.Share(long, cells) < longInCells {
		return rules.Finding{}, false
	}

	// Without a measurement for this engine and file system, or with one that disagrees, say
	// nothing.
	measured := throttled(input, dev)
	if len(measured) == 0 || slices.ContainsFunc(measured, func(m engineThrottled) bool { return !m.Helps() }) {
		return rules.Finding{}, false
	}

	finding := rule.Finding(dev)
	finding.Weight = share
	said := rules.Values{"device": rules.Called(dev), "queue": rules.Number(timeline.Quantile(queue, 0.5)),
		"writes": rules.Part(written)}

	if setting == "0" {
		finding.Say("off", said)
	} else {
		finding.Weight *= notRecorded
		finding.Entitle("unknown", nil)
		finding.Say("not known", said)
		finding.Close("closing", said)
	}

	finding.Severity = input.SeverityOf(finding.Weight)
	if setting == "" {
		finding.Severity = rules.LessThanCritical(finding.Severity)
	}

	finding.Windows = input.Windows(cells.Close(1))
	for _, m := range measured {
		finding.Say("measured", rules.Values{"engine": rules.Called(m.product),
			"filesystem": rules.Called(m.Filesystem),
			"where":      rules.Called(m.Where), "off": rules.Seconds(m.OffS), "on": rules.Seconds(m.OnS)})
	}

	if len(measured) > 1 {
		finding.Say("file system", nil)
	}

	finding.Evidence = []rules.Evidence{
		input.Figure("requests in the queue of "+dev+" while stalled and saturated, median", rules.DiskQueue,
			timeline.Quantile(queue, 0.5), "requests", cells),
		input.Figure("share of the stalled time in which it was saturated", rules.DiskBusy, share, "ratio", input.Stall.Cells),
		input.Figure("write await meanwhile, median", rules.DiskWriteAwait,
			timeline.Quantile(timeline.At(input.For(rules.DiskWriteAwait, "device", dev), cells), 0.5),
			"seconds", cells),
	}

	for _, name := range []string{"wbt_lat_usec.", "nr_requests.", "scheduler."} {
		if v := input.Facts[name+dev]; v != "" {
			finding.Evidence = append(finding.Evidence, input.Remark(name+dev+" = "+v))
		}
	}

	finding.Evidence = slices.DeleteFunc(
		finding.Evidence,
		func(e rules.Evidence) bool { return e.Metric != "" && e.Value == nil },
	)
	finding.Advise("on", rules.Values{"device": rules.Called(dev), "harmed": harmed(input.Pack)})
	return finding, true
}

// engineThrottled is a measurement with the engine's display name.
type engineThrottled struct {
	rules.Throttled
	product string
}

// throttled are the measurements for the recording's engines on a device's file system, or on all
// file systems if it is unknown.
func throttled(c *rules.Case, device string) []engineThrottled {
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
func harmed(p *rules.Pack) rules.Value {
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
	return rules.Value(strings.Join(out, "; "))
}
