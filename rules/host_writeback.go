package rules

import (
	"fmt"

	"plimsoll/timeline"
)

// An episode is a flush of the page cache when at least flushShare of what the device
// wrote in it came out of the dirty bytes, or when writeback was under way in most
// of it; a backlog under minBacklogBytes is no backlog.
const (
	flushShare         = 0.3
	minBacklogBytes    = 20e6
	writebackBytes     = 4e6
	tolerableStallS    = 0.5
	backlogLookBackS   = 5
	minBacklogCoverage = 0.25
)

func hostWritebackBacklog() Rule {
	r := Rule{ID: "host/writeback-backlog", Title: "The OS flushes a backlog of its page cache", Kind: Cause,
		When:  "plimsoll:memory_dirty:bytes > on() max(plimsoll:disk_written:bytes)",
		Needs: []string{SignalPrefix + "memory_dirty:bytes", SignalPrefix + "disk_written:bytes"},
		Cause: "Buffered writes (checkpoints, eviction, data files) collect in the page cache until they are 30 s old (vm.dirty_expire_centisecs), an fsync asks for them, or a share of memory is dirty, which on a large host never comes. Then they all go to the volume at once, and a journal's or a WAL's small fdatasync waits behind them."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		dirty := c.One(SignalPrefix + "memory_dirty:bytes")
		writeback := c.One(SignalPrefix + "memory_writeback:bytes")
		written := c.One(SignalPrefix + "disk_written:bytes")
		saturated, _ := c.Saturated()
		b := backlogEpisodes(c, dirty, writeback, written, saturated)
		if b.cells.Count() == 0 {
			return nil
		}
		share := Share(b.cells, c.Stall.Cells)
		if share < minBacklogCoverage {
			return nil
		}
		f := r.finding("page cache")
		f.Weight = share
		f.Severity = c.severityOf(share)
		f.Windows = c.Windows(b.cells)
		f.PeriodS = c.Period(b.cells.Close(c.Cells(5e9)))
		rate := timeline.Quantile(timeline.At(written, b.cells), 0.5)
		f.Summary = fmt.Sprintf("In %s of the stalled time the OS was flushing its page cache: up to %s dirty, which at the volume's %s/s is %s of writing that everything else waits behind.",
			pct(share), size(b.peak), size(rate), dur(b.peak/rate))
		f.Evidence = []Evidence{
			c.figure("most dirty page cache before a stall", SignalPrefix+"memory_dirty:bytes", b.peak, "bytes", b.cells),
			c.figure("dirty page cache otherwise, median", SignalPrefix+"memory_dirty:bytes", timeline.Quantile(timeline.At(dirty, c.NotStalled()), 0.5), "bytes", c.NotStalled()),
			c.figure("bytes written per second while flushing, median", SignalPrefix+"disk_written:bytes", rate, "bytes/s", b.cells),
			c.figure("share of what was written in these stalls that came out of the dirty bytes", "", b.fromCache, "ratio", b.cells),
		}
		if writeback != nil {
			f.Evidence = append(f.Evidence, c.figure("page cache under writeback while flushing, median", SignalPrefix+"memory_writeback:bytes", timeline.Quantile(timeline.At(writeback, b.cells), 0.5), "bytes", b.cells))
		}
		for _, k := range []string{"vm.dirty_background_bytes", "vm.dirty_background_ratio", "vm.dirty_expire_centisecs"} {
			if v, ok := c.Facts[k]; ok {
				f.Evidence = append(f.Evidence, Evidence{Text: k + " = " + v, From: c.Whole().From, To: c.Whole().To})
			}
		}
		f.Fixes = []Fix{
			{Summary: fmt.Sprintf("Bound the OS's dirty bytes: vm.dirty_background_bytes = %.0f (the volume's %s/s x %s s of tolerable stall)", rate*tolerableStallS, size(rate), num(tolerableStallS)),
				Expect:   "the flush starts early and stays short; measured on a 3,000 IOPS volume, WiredTiger's write p99 fell from 7.9 s to 0.27 s",
				TradeOff: "about 40 % more bytes to the device: less coalescing"},
			{Summary: "Put the journal/WAL on a volume of its own", Expect: "its fdatasync no longer waits behind data; in the same measurement p99 4.7 ms", TradeOff: "one more volume; a snapshot of a single volume is no longer consistent; reads still wait"},
		}
		return []Finding{f}
	}
	return r
}

type backlog struct {
	cells     timeline.Mask
	peak      float64 // bytes
	fromCache float64 // share of the written bytes
}

func backlogEpisodes(c *Case, dirty, writeback, written []float64, saturated timeline.Mask) backlog {
	b := backlog{cells: make(timeline.Mask, c.Grid.N)}
	look := c.Cells(backlogLookBackS * 1e9)
	var fell, wrote float64
	for _, e := range c.Stall.Cells.Close(1).Episodes() {
		first := max(0, e.First-look)
		before := dirty[first : e.First+1]
		peak := max(timeline.Max(before), timeline.Max(dirty[e.First:e.Last+1]))
		if !(peak >= minBacklogBytes) {
			continue
		}
		drop := 0.0
		for k := max(1, e.First); k <= min(e.Last+1, c.Grid.N-1); k++ {
			if d := dirty[k-1] - dirty[k]; d > 0 {
				drop += d
			}
		}
		out := timeline.Sum(written[e.First:e.Last+1]) * c.Grid.StepSeconds()
		cells := timeline.MaskOf(c.Grid.N, []timeline.Episode{e})
		flushing := 0.0
		if writeback != nil {
			flushing = Share(timeline.Where(writeback, func(x float64) bool { return x >= writebackBytes }), cells)
		}
		if drop < flushShare*out && flushing < 0.5 || Share(saturated, cells) < 0.5 && flushing < 0.5 {
			continue
		}
		b.cells = b.cells.Or(cells)
		b.peak = max(b.peak, peak)
		fell, wrote = fell+drop, wrote+out
	}
	b.cells = b.cells.And(c.Stall.Cells)
	if wrote > 0 {
		b.fromCache = min(1, fell/wrote)
	}
	return b
}
