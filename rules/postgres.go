package rules

import (
	"fmt"
	"math"

	"plimsoll/timeline"
)

// PostgresCheckpoints is where a checkpoint wrote or synced: both times are
// credited when it ends.
func (c *Case) PostgresCheckpoints() (cells timeline.Mask, write, sync []float64, ok bool) {
	write = c.One(SignalPrefix + "postgres_checkpoint_write:ratio")
	sync = c.One(SignalPrefix + "postgres_checkpoint_sync:ratio")
	if write == nil || sync == nil {
		return nil, nil, nil, false
	}
	both := make([]float64, c.Grid.N)
	for k := range both {
		both[k] = write[k] + sync[k]
	}
	least := c.leastOfCell(0.3)
	return timeline.Where(c.Credited(both), func(x float64) bool { return x >= least }), write, sync, true
}

// A checkpoint is written and then synced. Paced, it writes during most of the time
// and stalls, if at all, in its last part: the sync is judged by itself first.
type checkpointPhase struct {
	cells               timeline.Mask
	fraction, pIn, pOut float64
	name                string
}

// minSyncStall is the part of the stalled time that must fall into the syncs to name them.
const minSyncStall = 0.5

func (c *Case) worstPhase(cells timeline.Mask, sync []float64) checkpointPhase {
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
	syncs := timeline.Where(c.Credited(sync), func(x float64) bool { return x >= least })
	p := judged(syncs.Widen(1, after), "the fsync at the end of checkpoints")
	if p.fraction >= minAttributable && Share(p.cells, c.Stall.Cells) >= minSyncStall {
		return p
	}
	return judged(cells.Widen(1, after), "checkpoints")
}

func postgresCheckpointBurst() Rule {
	r := Rule{ID: "postgres/checkpoint-burst", Title: "Checkpoints stall commits", Kind: Cause, Engine: EnginePostgres,
		When:  "plimsoll:postgres_checkpoint_sync:ratio > 0.3",
		Needs: []string{SignalPrefix + "postgres_checkpoint_write:ratio", SignalPrefix + "postgres_checkpoint_sync:ratio"},
		Cause: "A checkpoint writes every dirty buffer and fsyncs every file. Unpaced, all of it reaches the volume at once; commits then wait for their WAL's fdatasync behind it, longest while the checkpoint itself is in fsync."}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		cells, write, sync, ok := c.PostgresCheckpoints()
		if !ok || !c.Stall.Any() {
			return nil
		}
		p := c.worstPhase(cells, sync)
		if p.fraction < minAttributable {
			return nil
		}
		near, pIn, pOut := p.cells, p.pIn, p.pOut
		step := c.Grid.StepSeconds()
		n := c.checkpointCount(cells)
		f := r.finding("postgres")
		f.Weight = p.fraction
		f.Severity = c.severityOf(p.fraction)
		f.Windows = c.Windows(near.And(c.Stall.Cells).Close(1))
		f.PeriodS = c.Period(cells.Close(c.Cells(3e9)))
		f.Summary = fmt.Sprintf("%s of the stalled time falls into %s: %s of the time stalled in them, %s otherwise. A checkpoint wrote for %s and was in fsync for %s on average.",
			pct(Share(near, c.Stall.Cells)), p.name, pct(pIn), pct(pOut), dur(timeline.Sum(write)*step/n), dur(timeline.Sum(sync)*step/n))
		if f.PeriodS > 0 {
			f.Summary += fmt.Sprintf(" They come every %s.", dur(f.PeriodS))
		}
		f.Evidence = []Evidence{
			c.figure("share of the time that stalled during a checkpoint", SignalPrefix+"postgres_checkpoint_sync:ratio", pIn, "ratio", near),
			c.figure("share of the time that stalled otherwise", SignalPrefix+"postgres_checkpoint_sync:ratio", pOut, "ratio", near.Not()),
			c.figure("most fsync time credited to one interval", SignalPrefix+"postgres_checkpoint_sync:ratio", timeline.Max(sync)*step, "seconds", cells),
			c.figure("checkpoints", "", n, "", cells),
		}
		if b := c.One(SignalPrefix + "postgres_buffers_checkpoint:rate"); b != nil {
			f.Evidence = append(f.Evidence, c.figure("buffers a checkpoint wrote, mean (8 kB each)", SignalPrefix+"postgres_buffers_checkpoint:rate", timeline.Sum(b)*step/n, "", cells))
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

func postgresCheckpointRequested() Rule {
	r := Rule{ID: "postgres/checkpoint-requested", Title: "Checkpoints come because the WAL is full", Kind: Cause, Engine: EnginePostgres,
		When:  "plimsoll:postgres_checkpoints_requested:rate > 0",
		Needs: []string{SignalPrefix + "postgres_checkpoints_requested:rate", SignalPrefix + "postgres_checkpoints_timed:rate"},
		Cause: "When max_wal_size is reached a checkpoint starts at once and is paced against the WAL still to come, not against the clock. Each is followed by full-page images of every page touched, which fill the WAL sooner: it feeds itself."}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		step := c.Grid.StepSeconds()
		requested := timeline.Sum(c.One(SignalPrefix+"postgres_checkpoints_requested:rate")) * step
		timed := timeline.Sum(c.One(SignalPrefix+"postgres_checkpoints_timed:rate")) * step
		if requested < 2 || requested < timed {
			return nil
		}
		f := r.finding("postgres")
		when := timeline.Where(c.One(SignalPrefix+"postgres_checkpoints_requested:rate"), func(x float64) bool { return x > 0 })
		f.Severity = Info
		if cells, _, sync, ok := c.PostgresCheckpoints(); ok && c.Stall.Any() {
			if f.Weight = c.worstPhase(cells, sync).fraction; f.Weight >= minAttributable {
				f.Severity = Warning
			}
		}
		f.Windows = c.Windows(when)
		f.PeriodS = c.Period(when)
		f.Summary = fmt.Sprintf("%s of %s checkpoints were requested, not timed", whole(requested), whole(requested+timed))
		if f.PeriodS > 0 {
			f.Summary += fmt.Sprintf(", one every %s", dur(f.PeriodS))
		}
		f.Summary += ": the WAL reached its size before checkpoint_timeout did, or somebody asked by hand (CHECKPOINT, a base backup)."
		f.Evidence = []Evidence{
			c.figure("checkpoints requested", SignalPrefix+"postgres_checkpoints_requested:rate", math.Round(requested), "", when),
			c.figure("checkpoints by the clock", SignalPrefix+"postgres_checkpoints_timed:rate", math.Round(timed), "", when),
		}
		if wal := c.One(SignalPrefix + "postgres_wal:bytes"); wal != nil {
			f.Evidence = append(f.Evidence, c.figure("WAL generated, mean", SignalPrefix+"postgres_wal:bytes", timeline.Mean(wal), "bytes/s", timeline.Known(wal)))
		}
		if m := c.One(SignalPrefix + "postgres_max_wal_size:bytes"); m != nil {
			f.Evidence = append(f.Evidence, c.figure("max_wal_size", SignalPrefix+"postgres_max_wal_size:bytes", timeline.Max(m), "bytes", timeline.Known(m)))
		}
		advice := "Raise max_wal_size until checkpoints come by checkpoint_timeout"
		if need := c.walNeeded(requested); need > 0 {
			advice += fmt.Sprintf(": about %s at this rate of writing", size(need))
			f.Evidence = append(f.Evidence, c.figure("max_wal_size at which checkpoint_timeout would come first, at this rate", SignalPrefix+"postgres_max_wal_size:bytes", need, "bytes", when))
		}
		f.Fixes = []Fix{{Summary: advice, Expect: "fewer checkpoints and less WAL", TradeOff: "disk for WAL, a longer recovery"}}
		return []Finding{f}
	}
	return r
}

// checkpointCount is how many checkpoints there were, at least one: by PostgreSQL's own count
// where it tells (two that follow each other at once look like one), else by their runs.
func (c *Case) checkpointCount(cells timeline.Mask) float64 {
	step := c.Grid.StepSeconds()
	counted := (timeline.Sum(c.One(SignalPrefix+"postgres_checkpoints_requested:rate")) + timeline.Sum(c.One(SignalPrefix+"postgres_checkpoints_timed:rate"))) * step
	return max(1, math.Round(counted), float64(len(cells.Close(c.Cells(3e9)).Episodes())))
}

// walNeeded is the max_wal_size at which, at the rate seen, checkpoints would come by the
// clock. WAL between two of them is proportional to max_wal_size (PostgreSQL's
// CalculateCheckpointSegments), so it has to grow as their distance has to.
func (c *Case) walNeeded(requested float64) float64 {
	have := timeline.Max(c.One(SignalPrefix + "postgres_max_wal_size:bytes"))
	timeout := timeline.Max(c.One(SignalPrefix + "postgres_checkpoint_timeout:seconds"))
	every := c.Seconds(timeline.Known(c.One(SignalPrefix+"postgres_checkpoints_requested:rate"))) / requested
	need := have * timeout / every
	if !(need > have) || math.IsInf(need, 0) {
		return 0
	}
	return need
}

// whole prints a count of events.
func whole(n float64) string {
	if n < 1000 {
		return fmt.Sprintf("%.0f", n)
	}
	return num(n)
}

// Backends write buffers themselves only when neither the checkpointer nor the
// background writer did in time.
const (
	minBackendShare   = 0.3
	minBackendBuffers = 1000
)

func postgresBackendWrites() Rule {
	r := Rule{ID: "postgres/backend-writes", Title: "Backends write buffers themselves", Kind: Cause, Engine: EnginePostgres,
		When:  "plimsoll:postgres_buffers_backend:rate > plimsoll:postgres_buffers_checkpoint:rate + plimsoll:postgres_buffers_clean:rate",
		Needs: []string{SignalPrefix + "postgres_buffers_backend:rate", SignalPrefix + "postgres_buffers_clean:rate", SignalPrefix + "postgres_buffers_checkpoint:rate"},
		Cause: "A query that needs a buffer and finds only dirty ones writes one out first. (The counter also holds blocks by which files grow: bulk loads raise it without harm.)"}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		step := c.Grid.StepSeconds()
		total := func(s string) float64 { return timeline.Sum(c.One(SignalPrefix+s)) * step }
		backend, clean, ckpt := total("postgres_buffers_backend:rate"), total("postgres_buffers_clean:rate"), total("postgres_buffers_checkpoint:rate")
		all := backend + clean + ckpt
		fsyncs := total("postgres_backend_fsyncs:rate")
		if (backend < minBackendBuffers || backend < minBackendShare*all) && fsyncs < 1 {
			return nil
		}
		f := r.finding("postgres")
		f.Severity = Info
		if fsyncs >= 1 {
			f.Severity = Warning
		}
		seen := timeline.Known(c.One(SignalPrefix + "postgres_buffers_backend:rate"))
		f.Summary = fmt.Sprintf("Backends wrote %s buffers, %s of all; checkpoints wrote %s, the background writer %s.", num(backend), pct(backend/max(all, 1)), num(ckpt), num(clean))
		if fsyncs >= 1 {
			f.Summary += fmt.Sprintf(" They had to fsync files themselves %s times: the checkpointer's queue of fsync requests was full.", whole(fsyncs))
		}
		f.Evidence = []Evidence{
			c.figure("buffers written by backends", SignalPrefix+"postgres_buffers_backend:rate", backend, "", seen),
			c.figure("of all buffers written", "", backend/max(all, 1), "ratio", seen),
			c.figure("fsyncs backends had to do themselves", SignalPrefix+"postgres_backend_fsyncs:rate", math.Round(fsyncs), "", seen),
		}
		f.Fixes = []Fix{{Summary: "Raise bgwriter_lru_maxpages and lower bgwriter_delay; raise shared_buffers if the working set does not fit", Expect: "clean buffers are ready when a query needs one", TradeOff: "some pages are written more than once"}}
		return []Finding{f}
	}
	return r
}
