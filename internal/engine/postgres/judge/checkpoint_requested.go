package judge

import (
	"fmt"
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func checkpointRequested() rules.Rule {
	r := rules.Rule{ID: "postgres/checkpoint-requested", Title: "Checkpoints come because the WAL is full", Kind: rules.Cause,
		When:    "plimsoll:postgres_checkpoints_requested:rate > 0",
		Needs:   []*rules.Signal{CheckpointsRequested, CheckpointsTimed},
		NoAlert: "it is judged by sums over the whole time; one requested checkpoint is no fault",
		Cause:   "When max_wal_size is reached a checkpoint starts at once and is paced against the WAL still to come, not against the clock. Each is followed by full-page images of every page touched, which fill the WAL sooner: it feeds itself.",
		Words:   rules.Words{"requested": "{{.requested}} of {{.all}} checkpoints were requested, not timed{{with .every}}, one every {{.}}{{end}}: the WAL reached its size before checkpoint_timeout did, or somebody asked by hand (CHECKPOINT, a base backup)."},
		Advice: map[string]rules.Advice{"more WAL": {Summary: "Raise max_wal_size until checkpoints come by checkpoint_timeout{{with .need}}: about {{.}} at this rate of writing{{end}}",
			Expect: "fewer checkpoints and less WAL", TradeOff: "disk for WAL, a longer recovery", Do: []*rules.Remedy{moreWAL}}}}
	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		step := c.Grid.StepSeconds()
		requested := timeline.Sum(c.One(CheckpointsRequested)) * step
		timed := timeline.Sum(c.One(CheckpointsTimed)) * step
		if requested < 2 || requested < timed {
			return nil
		}
		f := r.Finding("postgres")
		when := timeline.Where(c.One(CheckpointsRequested), func(x float64) bool { return x > 0 })
		f.Severity = rules.Info
		if ck, ok := findCheckpoints(&c.Signals); ok && c.Stall.Any() {
			if f.Weight = worstPhase(c, ck).fraction; f.Weight >= rules.MinAttributable {
				f.Severity = rules.Warning
			}
		}
		f.Windows = c.Windows(when)
		f.PeriodS = c.Period(when)
		said := rules.Values{"requested": whole(requested), "all": whole(requested + timed), "every": ""}
		if f.PeriodS > 0 {
			said["every"] = rules.Seconds(f.PeriodS)
		}
		f.Say("requested", said)
		f.Evidence = []rules.Evidence{
			c.Figure("checkpoints requested", CheckpointsRequested, math.Round(requested), "", when),
			c.Figure("checkpoints by the clock", CheckpointsTimed, math.Round(timed), "", when),
		}
		if wal := c.One(WALGenerated); wal != nil {
			f.Evidence = append(f.Evidence, c.Figure("WAL generated, mean", WALGenerated, timeline.Mean(wal), "bytes/s", timeline.Known(wal)))
		}
		if m := c.One(MaxWALSize); m != nil {
			f.Evidence = append(f.Evidence, c.Figure("max_wal_size", MaxWALSize, timeline.Max(m), "bytes", timeline.Known(m)))
		}
		advice := rules.Values{"need": ""}
		if need := walNeeded(c, requested); need > 0 {
			advice["need"] = rules.Bytes(need)
			f.Evidence = append(f.Evidence, c.Figure("max_wal_size at which checkpoint_timeout would come first, at this rate", MaxWALSize, need, "bytes", when))
		}
		f.Advise("more WAL", advice)
		return []rules.Finding{f}
	}
	return r
}

// walNeeded is the max_wal_size at which, at the rate seen, checkpoints would come by the
// clock. WAL between two of them is proportional to max_wal_size (PostgreSQL's
// CalculateCheckpointSegments), so it has to grow as their distance has to.
func walNeeded(c *rules.Case, requested float64) float64 {
	have := timeline.Max(c.One(MaxWALSize))
	timeout := timeline.Max(c.One(CheckpointTimeout))
	every := c.Seconds(timeline.Known(c.One(CheckpointsRequested))) / requested
	need := have * timeout / every
	if !(need > have) || math.IsInf(need, 0) {
		return 0
	}
	return need
}

// whole is a count of events.
func whole(n float64) rules.Value {
	if n < 1000 {
		return rules.Called(fmt.Sprintf("%.0f", n))
	}
	return rules.Number(n)
}
