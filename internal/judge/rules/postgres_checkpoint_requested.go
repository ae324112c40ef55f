package rules

import (
	"fmt"
	"math"

	"plimsoll/internal/record/timeline"
)

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
		if ck, ok := c.postgresCheckpoints(); ok && c.Stall.Any() {
			if f.Weight = c.worstPhase(ck).fraction; f.Weight >= minAttributable {
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
