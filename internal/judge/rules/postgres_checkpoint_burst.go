package rules

import (
	"fmt"

	"plimsoll/internal/record/timeline"
)

// A checkpoint is written and then synced. Paced, it writes during most of the time
// and stalls, if at all, in its last part: the sync is judged by itself first.
type checkpointPhase struct {
	cells               timeline.Mask
	fraction, pIn, pOut float64
	name                string
}

// minSyncStall is the part of the stalled time that must fall into the syncs to name them.
const minSyncStall = 0.5

func (c *Case) worstPhase(ck postgresCheckpoints) checkpointPhase {
	least := c.leastOfCell(0.3)
	after := c.Cells(checkpointAftermathS * 1e9)
	judged := func(m timeline.Mask, name string) checkpointPhase {
		p := checkpointPhase{cells: m, name: name}
		if !c.contrasts(m) {
			return p
		}
		if p.fraction, p.pIn, p.pOut = c.Attributable(m); p.pIn < stallRatio*p.pOut {
			p.fraction = 0
		}
		return p
	}
	syncs := timeline.Where(c.Credited(ck.sync), func(x float64) bool { return x >= least }).Or(ck.openSync)
	p := judged(syncs.Widen(1, after), "the fsync at the end of checkpoints")
	if p.fraction >= minAttributable && Share(p.cells, c.Stall.Cells) >= minSyncStall {
		return p
	}
	return judged(ck.all().Widen(1, after), "checkpoints")
}

func postgresCheckpointBurst() Rule {
	r := Rule{ID: "postgres/checkpoint-burst", Title: "Checkpoints stall commits", Kind: Cause, Engine: EnginePostgres,
		When:  "plimsoll:postgres_checkpoint_sync:ratio > 0.3",
		Needs: []string{SignalPrefix + "postgres_checkpoint_write:ratio", SignalPrefix + "postgres_checkpoint_sync:ratio"},
		Cause: "A checkpoint writes every dirty buffer and fsyncs every file. Unpaced, all of it reaches the volume at once; commits then wait for their WAL's fdatasync behind it, longest while the checkpoint itself is in fsync."}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		ck, ok := c.postgresCheckpoints()
		if !ok || !c.Stall.Any() {
			return nil
		}
		p := c.worstPhase(ck)
		if p.fraction < minAttributable {
			return nil
		}
		cells, near := ck.all(), p.cells
		f := r.finding("postgres")
		f.Weight = p.fraction
		f.Severity = c.severityOf(p.fraction)
		f.Windows = c.Windows(near.And(c.Stall.Cells).Close(1))
		f.PeriodS = c.Period(cells.Close(c.Cells(3e9)))
		f.Summary = fmt.Sprintf("%s of the stalled time falls into %s: %s of the time stalled in them, %s otherwise.",
			pct(Share(near, c.Stall.Cells)), p.name, pct(p.pIn), pct(p.pOut))
		f.Evidence = []Evidence{
			c.figure("share of the time that stalled during a checkpoint", SignalPrefix+"postgres_checkpoint_sync:ratio", p.pIn, "ratio", near),
			c.figure("share of the time that stalled otherwise", SignalPrefix+"postgres_checkpoint_sync:ratio", p.pOut, "ratio", near.Not()),
		}
		c.tellFinished(&f, ck)
		c.tellOpen(&f, ck)
		if f.PeriodS > 0 {
			f.Summary += fmt.Sprintf(" They come every %s.", dur(f.PeriodS))
		}
		if sat, ok := c.Saturated(); ok {
			f.Evidence = append(f.Evidence, c.figure("share of the checkpoints' time in which a device was saturated", SignalPrefix+"disk_busy:ratio", Share(sat, cells), "ratio", cells))
		}
		for _, s := range []struct{ signal, name, unit string }{
			{"postgres_checkpoint_completion_target:ratio", "checkpoint_completion_target", "ratio"},
			{"postgres_checkpoint_flush_after:bytes", "checkpoint_flush_after", "bytes"},
			{"postgres_checkpoint_timeout:seconds", "checkpoint_timeout", "seconds"},
		} {
			if v := c.One(SignalPrefix + s.signal); v != nil {
				f.Evidence = append(f.Evidence, c.figure(s.name, SignalPrefix+s.signal, timeline.Max(v), s.unit, timeline.Known(v)))
			}
		}
		f.Fixes = []Fix{
			{Summary: "Pace it: checkpoint_completion_target = 0.9 and checkpoint_flush_after = 256kB (PostgreSQL's defaults; 14 and later for the first)" + c.pacingNow(),
				Expect:   "the writes spread over the interval and the fsync finds little to do; measured at 600 transactions/s on a 3,000 IOPS volume: p99 3.3 s to 5 ms",
				TradeOff: "hardly any: recovery time is bounded by checkpoint_timeout and max_wal_size, not by these"},
			{Summary: "Raise checkpoint_timeout and max_wal_size", Expect: "fewer checkpoints, and less WAL: most of it is full-page images after a checkpoint", TradeOff: "a longer recovery after a crash; disk for WAL"},
			{Summary: "Put pg_wal on a volume of its own", Expect: "commits no longer wait behind data", TradeOff: "one more volume"},
		}
		return []Finding{f}
	}
	return r
}

// tellFinished says how long the checkpoints took that have ended.
func (c *Case) tellFinished(f *Finding, ck postgresCheckpoints) {
	cells := ck.finished
	if cells.Count() == 0 && ck.open.Count() > 0 {
		return
	}
	step, n := c.Grid.StepSeconds(), c.checkpointCount(cells)
	f.Summary += fmt.Sprintf(" A checkpoint wrote for %s and was in fsync for %s on average.", dur(timeline.Sum(ck.write)*step/n), dur(timeline.Sum(ck.sync)*step/n))
	f.Evidence = append(f.Evidence,
		c.figure("most fsync time credited to one interval", SignalPrefix+"postgres_checkpoint_sync:ratio", timeline.Max(ck.sync)*step, "seconds", cells),
		c.figure("checkpoints", "", n, "", cells))
	if b := c.One(SignalPrefix + "postgres_buffers_checkpoint:rate"); b != nil {
		f.Evidence = append(f.Evidence, c.figure("buffers a checkpoint wrote, mean (8 kB each)", SignalPrefix+"postgres_buffers_checkpoint:rate", timeline.Sum(b)*step/n, "", cells))
	}
}

// tellOpen says how far the one is that has not ended, by what the checkpointer waits for.
func (c *Case) tellOpen(f *Finding, ck postgresCheckpoints) {
	if ck.open.Count() == 0 {
		return
	}
	told := " The last one has not ended: "
	for _, phase := range []struct {
		name  string
		cells timeline.Mask
	}{{"writing", ck.open.Without(ck.openSync)}, {"in fsync", ck.openSync}} {
		if took := c.Seconds(phase.cells); took > 0 {
			f.Summary += told + dur(took) + " " + phase.name
			f.Evidence = append(f.Evidence, c.figure("time the checkpoint that has not ended has been "+phase.name, SignalPrefix+"postgres_checkpointer:count", took, "seconds", phase.cells))
			told = " and "
		}
	}
	f.Summary += " so far."
}

// pacingNow says what the settings are, where the exporter tells.
func (c *Case) pacingNow() string {
	target := timeline.Max(c.One(SignalPrefix + "postgres_checkpoint_completion_target:ratio"))
	flush := timeline.Max(c.One(SignalPrefix + "postgres_checkpoint_flush_after:bytes"))
	switch {
	case target >= 0.9 && flush > 0:
		return "; both are set so already: look at what else fsyncs, and at the next fixes"
	case target == target && flush == flush:
		return fmt.Sprintf("; they are %s and %s now", num(target), size(flush))
	case target == target:
		return fmt.Sprintf("; the first is %s now", num(target))
	}
	return ""
}
