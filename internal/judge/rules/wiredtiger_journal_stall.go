package rules

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/record/timeline"
)

// A journal sync is slow from slowSyncS on: a flash volume's takes about a millisecond. One
// slow sync among many quick ones hides in an interval's mean; then the time
// beyond what as many usual syncs take gives it away.
const (
	slowSyncS        = 0.050
	excessSyncS      = 0.5  // seconds of an interval
	excessSyncShare  = 0.05 // of the interval
	syncOnShare      = 0.3  // of a cell in which a slow sync was under way
	minJournalCover  = 0.5  // of the stalled time, where nothing is to compare with
	flushedElsewhere = 2.0  // times what WiredTiger handed over
	mostlyCheckpoint = 0.7
	seldomCheckpoint = 0.3
)

func wiredtigerJournalStall() Rule {
	r := Rule{ID: "wiredtiger/journal-stall", Title: "The journal's fdatasync stalls", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:wt_log_sync:seconds > 0.05",
		Needs: []string{SignalPrefix + "wt_log_sync_time:ratio", SignalPrefix + "wt_log_syncs:rate"},
		Cause: "A write that waits for the journal waits for its fdatasync, one at a time. The sync itself is a few kilobytes; it is slow because the volume's queue is full of something else: page cache that the OS flushes, or a checkpoint's writes."}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		each := c.One(SignalPrefix + "wt_log_sync:seconds")
		if !c.Stall.Any() || each == nil { // nil: nothing was synced
			return nil
		}
		on, slow := c.slowJournalSyncs()
		fraction, pIn, pOut := c.Attributable(on)
		cover := Share(on, c.Stall.Cells)
		compared := c.contrasts(on) && fraction >= minAttributable && pIn >= stallRatio*pOut
		if !compared && (cover < minJournalCover || c.contrasts(on)) {
			return nil
		}
		f := r.finding("wiredtiger journal")
		f.Weight = fraction
		if !compared {
			f.Weight = cover / 2 // coincidence alone: nothing to compare with
		}
		f.Severity = c.severityOf(f.Weight)
		f.Windows = c.Windows(on.And(c.Stall.Cells))
		f.PeriodS = c.Period(on.Close(c.Cells(5e9)))
		calm := timeline.Quantile(timeline.At(each, c.NotStalled()), 0.5)
		longest := c.longestSync(slow)
		f.Summary = fmt.Sprintf("A slow fdatasync of the journal was under way in %s of the stalled time, for up to %s on end", pct(cover), dur(longest))
		if !math.IsNaN(calm) {
			f.Summary += fmt.Sprintf("; outside it one takes %s", dur(calm))
		}
		f.Fixes = []Fix{
			{Summary: "Give the journal a volume of its own (mounted at <dbPath>/journal)", Expect: "its fdatasync no longer waits behind data; measured: write p99 7.9 s to 4.7 ms with nothing else changed", TradeOff: "one more small volume; snapshots of a single volume are no longer consistent; the checkpoint takes as long as before"},
			{Summary: "Or bound the OS's dirty bytes: vm.dirty_background_bytes = the volume's bytes/s x the seconds of stall you tolerate", Expect: "p99 7.9 s to 0.27 s in the same measurement", TradeOff: "about 40 % more bytes to the device"},
		}
		f.Summary += ". " + r.behindWhat(c, on, &f)
		f.Evidence = append(f.Evidence,
			c.figure("share of the time that stalled while a slow journal sync was under way", SignalPrefix+"wt_log_sync_time:ratio", pIn, "ratio", on),
			c.figure("share of the time that stalled while none was", SignalPrefix+"wt_log_sync_time:ratio", pOut, "ratio", on.Not()),
			c.figure("longest time in journal syncs credited to one interval", SignalPrefix+"wt_log_sync_time:ratio", longest, "seconds", slow),
			c.figure("longest mean journal fdatasync of an interval", SignalPrefix+"wt_log_sync:seconds", timeline.Max(c.wholeSyncs(each)), "seconds", slow))
		if !math.IsNaN(calm) {
			f.Evidence = append(f.Evidence, c.figure("journal fdatasync outside the stalls, median", SignalPrefix+"wt_log_sync:seconds", calm, "seconds", c.NotStalled()))
		}
		if n := c.One(SignalPrefix + "wt_fsyncs_in_progress:count"); n != nil {
			f.Evidence = append(f.Evidence, c.figure("fsync calls in progress while stalled, mean", SignalPrefix+"wt_fsyncs_in_progress:count", timeline.Mean(timeline.At(n, c.Stall.Cells)), "", c.Stall.Cells))
		}
		return []Finding{f}
	}
	return r
}

// slowJournalSyncs is where a slow sync was under way, and the cells it is credited to. An
// eight-second sync is credited when it ends, together with the quick ones that follow
// in the same second; it reaches back as far as the credited seconds do.
func (c *Case) slowJournalSyncs() (on, credited timeline.Mask) {
	credit, each, syncs := c.One(SignalPrefix+"wt_log_sync_time:ratio"), c.One(SignalPrefix+"wt_log_sync:seconds"), c.One(SignalPrefix+"wt_log_syncs:rate")
	step := c.Grid.StepSeconds()
	usual := timeline.Quantile(each, 0.5)
	slow := make([]float64, len(credit))
	credited = make(timeline.Mask, len(credit))
	for k, x := range credit {
		slow[k] = x
		if math.IsNaN(x) {
			continue
		}
		excess := 0.0
		if k < len(syncs) && !math.IsNaN(syncs[k]) && !math.IsNaN(usual) {
			excess = x - syncs[k]*usual
		}
		credited[k] = each[k] >= slowSyncS || excess*step >= excessSyncS && excess >= excessSyncShare
		if !credited[k] {
			slow[k] = 0
		}
	}
	least := c.leastOfCell(syncOnShare)
	return timeline.Where(c.Credited(slow), func(x float64) bool { return x >= least }), credited
}

// wholeSyncs is the mean of the syncs that ended in a cell where at least half a sync did: a
// sample that lies across two cells leaves a twentieth of a sync in one of them, whose
// time the server may have counted a sample earlier.
func (c *Case) wholeSyncs(each []float64) []float64 {
	syncs, step := c.One(SignalPrefix+"wt_log_syncs:rate"), c.Grid.StepSeconds()
	out := slices.Clone(each)
	for k := range out {
		if k < len(syncs) && syncs[k]*step < 0.5 {
			out[k] = math.NaN()
		}
	}
	return out
}

// longestSync is the most time in syncs credited to one interval: an upper bound of
// the longest sync, and where it is over a cell's length, nearly that sync alone.
func (c *Case) longestSync(slow timeline.Mask) float64 {
	credit := c.One(SignalPrefix + "wt_log_sync_time:ratio")
	longest := timeline.Max(timeline.At(credit, slow)) * c.Grid.StepSeconds()
	// A sample that came late spreads its seconds over several cells, one in each.
	for _, e := range timeline.Where(credit, func(x float64) bool { return x >= 0.99 }).Episodes() {
		longest = max(longest, timeline.Sum(credit[e.First:e.Last+1])*c.Grid.StepSeconds())
	}
	return longest
}

// behindWhat says what the journal waited behind, as far as the recording can tell.
func (r Rule) behindWhat(c *Case, on timeline.Mask, f *Finding) string {
	ckpt, known := c.CheckpointCells()
	inCkpt := 0.0
	if known {
		inCkpt = Share(ckpt.Widen(0, 1), on)
		f.Evidence = append(f.Evidence, c.figure("share of the slow syncs' time in which a checkpoint ran", SignalPrefix+"wt_checkpoint_running:bool", inCkpt, "ratio", on))
	}
	if busiest, journal, apart := c.journalApart(on); apart {
		return c.behindApart(busiest, journal, on, f)
	}
	written, wt := c.busiestWriter(on), c.One(SignalPrefix+"wt_blocks_written:bytes")
	if written == nil || wt == nil {
		switch {
		case known && inCkpt >= mostlyCheckpoint:
			return "It coincides with checkpoints; whether it waited behind a checkpoint's own writes or behind page cache the OS flushed cannot be told without the device's counters."
		case known && inCkpt < seldomCheckpoint:
			return "No checkpoint ran in most of it. What it waited behind cannot be told without the device's counters; page cache that the OS flushes is the usual answer."
		}
		return "What it waited behind cannot be told without the device's counters."
	}
	// A checkpoint hands its bytes to the OS first and syncs them then: what it handed
	// over since it began belongs to the syncs that wait at its end.
	span := on
	for _, e := range ckpt.Episodes() {
		m := timeline.MaskOf(c.Grid.N, []timeline.Episode{e})
		if m.Widen(0, 1).And(on).Count() > 0 {
			span = span.Or(m)
		}
	}
	step := c.Grid.StepSeconds()
	toDevice := timeline.Sum(timeline.At(written, span)) * step
	handed := timeline.Sum(timeline.At(wt, span)) * step
	handed += timeline.Sum(timeline.At(c.One(SignalPrefix+"wt_log_payload:bytes"), span)) * step
	f.Evidence = append(f.Evidence,
		c.figure("written to the device from the start of these checkpoints or syncs to their end", SignalPrefix+"disk_written:bytes", toDevice, "bytes", span),
		c.figure("handed to the OS by WiredTiger meanwhile", SignalPrefix+"wt_blocks_written:bytes", handed, "bytes", span))
	if share, ok := c.queuedShare(on); ok && share < idleSaturation {
		return fmt.Sprintf("A device was saturated in only %s of it: it did not wait in a volume's queue. The volume itself answered late, or the host did (CPU).", pct(share))
	}
	switch {
	case toDevice > flushedElsewhere*handed:
		return fmt.Sprintf("The device wrote %s meanwhile, of which WiredTiger had just handed over %s: the sync waited behind page cache written earlier, which the OS was flushing (see host/writeback-backlog).", size(toDevice), size(handed))
	case known && inCkpt >= mostlyCheckpoint:
		return "It waited behind the checkpoint's own writes."
	case known && inCkpt < seldomCheckpoint:
		return "No checkpoint ran in most of it: it waited behind what eviction wrote, or behind another user of the volume."
	}
	return "It waited behind a mix of checkpoint writes and page cache flushed by the OS."
}

// busiestWriter is the bytes per second written to the device that wrote most in the
// cells. A stripe, its partitions and its members each count the same bytes: the sum over
// devices would count them twice.
func (c *Case) busiestWriter(in timeline.Mask) []float64 {
	var best []float64
	most := -1.0
	for _, t := range c.Signal(SignalPrefix + "disk_written:bytes") {
		if s := timeline.Sum(timeline.At(t.Values, in)); s > most {
			best, most = t.Values, s
		}
	}
	return best
}
