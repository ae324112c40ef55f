package rules

import (
	"fmt"

	"plimsoll/timeline"
)

// CheckpointCells is where a WiredTiger checkpoint ran: by its running flag, and by
// the time a checkpoint is credited with when it ends (a flag sampled once a
// second misses short ones).
func (c *Case) CheckpointCells() (timeline.Mask, bool) {
	running := c.One(SignalPrefix + "wt_checkpoint_running:bool")
	credited := c.Credited(c.One(SignalPrefix + "wt_checkpoint_time:ratio"))
	if running == nil && credited == nil {
		return nil, false
	}
	m := timeline.Where(running, func(x float64) bool { return x > 0 })
	return m.Or(timeline.Where(credited, func(x float64) bool { return x >= 0.5 })), true
}

// checkpointAftermathS is how long after a checkpoint a stall is still counted to it: the
// writers that waited are credited when they are through.
const checkpointAftermathS = 2

func wiredtigerCheckpointStall() Rule {
	r := Rule{ID: "wiredtiger/checkpoint-stall", Title: "Checkpoints stall writes", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:wt_checkpoint_running:bool > 0",
		Cause: "Every 60 s after the last one ended, WiredTiger writes all dirty pages and fdatasyncs every file. On a small volume this fills the device's queue for as long as the bytes take, and everything else that needs the device waits in it."}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		running, ok := c.CheckpointCells()
		if !ok || !c.Stall.Any() {
			return nil
		}
		near := running.Widen(0, c.Cells(checkpointAftermathS*1e9))
		fraction, pIn, pOut := c.Attributable(near)
		if fraction < minAttributable || pIn < 1.3*pOut {
			return nil
		}
		f := r.finding("wiredtiger")
		f.Weight = fraction
		f.Severity = c.severityOf(fraction)
		f.Windows = c.Windows(near.And(c.Stall.Cells))
		f.PeriodS = c.Period(running)
		last := c.One(SignalPrefix + "wt_checkpoint_last:seconds")
		f.Summary = fmt.Sprintf("%s of the stalled time falls into checkpoints: %s of the time stalled while one ran, %s while none did.",
			pct(Share(near, c.Stall.Cells)), pct(pIn), pct(pOut))
		if d := timeline.Max(last); d > 0 {
			f.Summary += fmt.Sprintf(" The longest took %s.", dur(d))
		}
		if f.PeriodS > 0 {
			f.Summary += fmt.Sprintf(" They start every %s.", dur(f.PeriodS))
		}
		f.Evidence = append(f.Evidence,
			c.figure("share of the time that stalled while a checkpoint ran", SignalPrefix+"wt_checkpoint_running:bool", pIn, "ratio", near),
			c.figure("share of the time that stalled while none ran", SignalPrefix+"wt_checkpoint_running:bool", pOut, "ratio", near.Not()),
			c.figure("checkpoints", "", float64(len(running.Episodes())), "", running))
		r.checkpointFigures(c, &f, running)
		f.Fixes = checkpointFixes()
		return []Finding{f}
	}
	return r
}

func (r Rule) checkpointFigures(c *Case, f *Finding, running timeline.Mask) {
	if last := c.One(SignalPrefix + "wt_checkpoint_last:seconds"); last != nil {
		f.Evidence = append(f.Evidence, c.figure("longest checkpoint", SignalPrefix+"wt_checkpoint_last:seconds", timeline.Max(last), "seconds", timeline.Known(last)))
	}
	if written := c.One(SignalPrefix + "wt_checkpoint_written:bytes"); written != nil {
		n := float64(max(1, len(running.Episodes())))
		f.Evidence = append(f.Evidence, c.figure("bytes written for a checkpoint, mean", SignalPrefix+"wt_checkpoint_written:bytes",
			timeline.Sum(written)*c.Grid.StepSeconds()/n, "bytes", running))
	}
	if dirty := c.One(SignalPrefix + "wt_dirty:bytes"); dirty != nil {
		f.Evidence = append(f.Evidence, c.figure("most dirty bytes in the cache", SignalPrefix+"wt_dirty:bytes", timeline.Max(dirty), "bytes", timeline.Known(dirty)))
	}
	if sat, ok := c.Saturated(); ok {
		f.Evidence = append(f.Evidence, c.figure("share of the checkpoints' time in which a device was saturated", SignalPrefix+"disk_busy:ratio", Share(sat, running), "ratio", running))
	}
}

func checkpointFixes() []Fix {
	return []Fix{
		{Summary: "Bound the OS's dirty bytes (vm.dirty_background_bytes = the volume's bytes/s x the seconds of stall you tolerate)",
			Expect:   "the checkpoint's writes reach the volume as they are made, not in one fsync; measured on a 3,000 IOPS volume: longest checkpoint 7.6 s to 1.1 s, write p99 7.9 s to 0.27 s",
			TradeOff: "about 40 % more bytes to the device"},
		{Summary: "Lower the dirty target so that less is left for the checkpoint: eviction_dirty_target=1,eviction_dirty_trigger=5 (wiredTigerEngineRuntimeConfig)",
			Expect: "smaller checkpoints; alone it took only a fifth off the p99 in the same measurement, with bounded OS dirty bytes it went to 0.17 s", TradeOff: "more CPU and more page writes between checkpoints"},
		{Summary: "Put the journal on a volume of its own", Expect: "writes no longer wait for the checkpoint (p99 4.7 ms measured); the checkpoint takes as long as before", TradeOff: "one more volume; snapshots of a single volume are no longer consistent"},
	}
}

// A journal sync is slow from here on: a flash volume's takes about a millisecond.
const slowSyncS = 0.050

func wiredtigerJournalStall() Rule {
	r := Rule{ID: "wiredtiger/journal-stall", Title: "The journal's fdatasync stalls", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:wt_log_sync:seconds > 0.05",
		Needs: []string{SignalPrefix + "wt_log_sync_time:ratio", SignalPrefix + "wt_log_sync:seconds"},
		Cause: "A write that waits for the journal waits for its fdatasync, one at a time. The sync itself is a few kilobytes; it is slow because the volume's queue is full of something else: page cache that the OS flushes, or a checkpoint's writes."}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		sync := c.Credited(c.One(SignalPrefix + "wt_log_sync_time:ratio"))
		each := c.One(SignalPrefix + "wt_log_sync:seconds")
		if !c.Stall.Any() {
			return nil
		}
		// Slow syncs only: a busy journal that syncs in a millisecond stalls nobody.
		slow := timeline.Where(each, func(x float64) bool { return x >= slowSyncS })
		on := make(timeline.Mask, c.Grid.N)
		for k, s := range slow {
			if !s {
				continue
			}
			reach := c.Cells(1e9 * 0)
			if each[k] > 0 {
				reach = max(1, int(each[k]/c.Grid.StepSeconds()+0.999))
			}
			for j := max(0, k-reach+1); j <= k; j++ {
				on[j] = on[j] || sync[j] >= 0.3
			}
		}
		fraction, pIn, pOut := c.Attributable(on)
		cover := Share(on, c.Stall.Cells)
		if fraction < minAttributable && cover < 0.5 || cover < minAttributable {
			return nil
		}
		f := r.finding("wiredtiger journal")
		f.Weight = max(fraction, cover*0.5)
		f.Severity = c.severityOf(f.Weight)
		f.Windows = c.Windows(on.And(c.Stall.Cells))
		f.PeriodS = c.Period(on.Close(c.Cells(5e9)))
		calm := timeline.Quantile(timeline.At(each, c.NotStalled()), 0.5)
		f.Summary = fmt.Sprintf("A slow fdatasync of the journal was under way in %s of the stalled time; the slowest interval's took %s on average",
			pct(cover), dur(timeline.Max(each)))
		if calm == calm {
			f.Summary += fmt.Sprintf(", against %s otherwise", dur(calm))
		}
		f.Summary += ". " + r.behindWhat(c, on, &f)
		f.Evidence = append(f.Evidence,
			c.figure("share of the time that stalled while a slow journal sync was under way", SignalPrefix+"wt_log_sync_time:ratio", pIn, "ratio", on),
			c.figure("share of the time that stalled while none was", SignalPrefix+"wt_log_sync_time:ratio", pOut, "ratio", on.Not()),
			c.figure("longest mean journal fdatasync of an interval", SignalPrefix+"wt_log_sync:seconds", timeline.Max(each), "seconds", slow),
			c.figure("journal fdatasync otherwise, median", SignalPrefix+"wt_log_sync:seconds", calm, "seconds", c.NotStalled()))
		if n := c.One(SignalPrefix + "wt_fsyncs_in_progress:count"); n != nil {
			f.Evidence = append(f.Evidence, c.figure("fsync calls in progress while stalled, mean", SignalPrefix+"wt_fsyncs_in_progress:count", timeline.Mean(timeline.At(n, c.Stall.Cells)), "", c.Stall.Cells))
		}
		f.Fixes = []Fix{
			{Summary: "Give the journal a volume of its own (mounted at <dbPath>/journal)", Expect: "its fdatasync no longer waits behind data; measured: write p99 7.9 s to 4.7 ms with nothing else changed", TradeOff: "one more small volume; snapshots of a single volume are no longer consistent; the checkpoint takes as long as before"},
			{Summary: "Or bound the OS's dirty bytes: vm.dirty_background_bytes = the volume's bytes/s x the seconds of stall you tolerate", Expect: "p99 7.9 s to 0.27 s in the same measurement", TradeOff: "about 40 % more bytes to the device"},
		}
		return []Finding{f}
	}
	return r
}

// behindWhat says what the journal waited behind, as far as the recording can tell.
func (r Rule) behindWhat(c *Case, on timeline.Mask, f *Finding) string {
	ckpt, known := c.CheckpointCells()
	inCkpt := 0.0
	if known {
		inCkpt = Share(ckpt.Widen(0, 1), on)
		f.Evidence = append(f.Evidence, c.figure("share of the slow syncs' time in which a checkpoint ran", SignalPrefix+"wt_checkpoint_running:bool", inCkpt, "ratio", on))
	}
	dirty := c.One(SignalPrefix + "memory_dirty:bytes")
	written := c.One(SignalPrefix + "disk_written:bytes")
	if dirty == nil || written == nil {
		if known && inCkpt >= 0.7 {
			return "It coincides with checkpoints; whether it waited behind the checkpoint's own writes or behind page cache the OS flushed cannot be told without the host's dirty bytes."
		}
		return "What it waited behind cannot be told without the host's dirty bytes and device counters."
	}
	wt := c.One(SignalPrefix + "wt_blocks_written:bytes")
	toDevice := timeline.Sum(timeline.At(written, on))
	fromWT := timeline.Sum(timeline.At(wt, on))
	f.Evidence = append(f.Evidence, c.figure("bytes/s to the devices while the syncs were slow, mean", SignalPrefix+"disk_written:bytes", timeline.Mean(timeline.At(written, on)), "bytes/s", on))
	if wt != nil {
		f.Evidence = append(f.Evidence, c.figure("bytes/s WiredTiger handed to the OS meanwhile, mean", SignalPrefix+"wt_blocks_written:bytes", timeline.Mean(timeline.At(wt, on)), "bytes/s", on))
	}
	switch {
	case wt != nil && toDevice > 2*fromWT:
		return "The device was writing more than twice what WiredTiger handed over meanwhile: the sync waited behind page cache written earlier, which the OS was flushing (see host/writeback-backlog)."
	case known && inCkpt >= 0.7:
		return "It waited behind the checkpoint's own writes."
	case known && inCkpt < 0.3:
		return "No checkpoint ran in most of it: it waited behind other writes to the same volume."
	}
	return "It waited behind a mix of checkpoint writes and page cache flushed by the OS."
}
