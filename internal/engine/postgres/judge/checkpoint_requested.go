package judge

import (
	"fmt"
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func checkpointRequested() rules.Rule {
	r := rules.Rule{ID: "postgres/checkpoint-requested", Title: "Checkpoints come because the WAL is full",
		Kind: rules.Cause, Storage: true,
		When:    "plimsoll:postgres_checkpoints_requested:rate > 0",
		Needs:   []*rules.Signal{CheckpointsRequested, CheckpointsTimed},
		NoAlert: "it is judged by sums over the whole time; one requested checkpoint is no fault",
		Cause:   "When max_wal_size is reached a checkpoint starts immediately, and is paced by the WAL still to come if that is faster than the clock. Each is followed by full-page images of every page touched, which fill the WAL sooner: it feeds itself.",
		Words:   rules.Words{"requested": "{{.requested}} of {{.all}} checkpoints were requested, not timed{{with .every}}, one every {{.}}{{end}}: the WAL reached its size before checkpoint_timeout did{{if not .known}}, or they were asked for by hand (CHECKPOINT, a base backup, CREATE DATABASE): how much WAL there was is not known{{end}}.{{with .hand}} {{.}} more were asked for by hand, with little WAL since the one before.{{end}}"},
		Advice: map[string]rules.Advice{"more WAL": {Summary: "Raise max_wal_size until checkpoints come by checkpoint_timeout{{with .need}}: about {{.}} at this rate of writing{{end}}",
			Expect: "fewer checkpoints and less WAL", TradeOff: "disk for WAL, a longer recovery",
			Do: []*rules.Remedy{moreWAL}}}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		step := c.Grid.StepSeconds()
		timed := timeline.Sum(c.One(CheckpointsTimed)) * step
		requested, byHand, trigger := byWAL(c)
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
		said := rules.Values{"requested": whole(requested), "all": whole(requested + byHand + timed), "every": "",
			"known": "", "hand": ""}

		if trigger > 0 {
			said["known"] = rules.Called("known")
		}

		if byHand >= 1 {
			said["hand"] = whole(byHand)
		}

		if f.PeriodS > 0 {
			said["every"] = rules.Seconds(f.PeriodS)
		}

		f.Say("requested", said)
		f.Evidence = []rules.Evidence{
			c.Figure("checkpoints requested", CheckpointsRequested, math.Round(requested), "", when),
			c.Figure("checkpoints by the clock", CheckpointsTimed, math.Round(timed), "", when),
		}

		if wal := c.One(WALGenerated); wal != nil {
			f.Evidence = append(f.Evidence,
				c.Figure("WAL generated, mean", WALGenerated, timeline.Mean(wal), "bytes/s", timeline.Known(wal)))
		}

		if m := c.One(MaxWALSize); m != nil {
			f.Evidence = append(f.Evidence,
				c.Figure("max_wal_size", MaxWALSize, timeline.Max(m), "bytes", timeline.Known(m)))
		}

		advice := rules.Values{"need": ""}
		if need := walNeeded(c, requested); need > 0 {
			advice["need"] = rules.Bytes(need)
			f.Evidence = append(f.Evidence,
				c.Figure("max_wal_size at which checkpoint_timeout would come first, at this rate", MaxWALSize, need,
					"bytes", when))
		}

		f.Advise("more WAL", advice)
		return []rules.Finding{f}
	}

	return r
}

// minTriggered is the share of the WAL at which a checkpoint is requested from which one was requested
// for it: the WAL is counted in intervals, and the first checkpoint's is not complete.
const minTriggered = 0.5

// byWAL separates checkpoints requested for their WAL from those asked for by hand: CHECKPOINT, a base
// backup, CREATE DATABASE with STRATEGY file_copy, a restart. Those have little WAL since the one
// before. Where WAL or its limit is not measured all count as requested for it, and trigger is 0.
//
// A checkpoint is requested once max_wal_size / (1 + checkpoint_completion_target) of WAL was written
// since the last one began (CalculateCheckpointSegments in xlog.c, 11 to 18).
func byWAL(c *rules.Case) (requested, byHand, trigger float64) {
	asked, step := c.One(CheckpointsRequested), c.Grid.StepSeconds()
	all := timeline.Sum(asked) * step
	generated, size := c.One(WALGenerated), timeline.Max(c.One(MaxWALSize))
	if generated == nil || !(size > 0) {
		return all, 0, 0
	}

	target := timeline.Max(c.One(CheckpointCompletionTarget))
	if math.IsNaN(target) {
		target = 0.9 // the default from 14 on
	}

	trigger = size / (1 + target)

	unknown := 0.0
	since := sinceCheckpoint(&c.Signals, generated)
	for k, x := range asked {
		switch n := x * step; {
		case !(n > 0):
		case math.IsNaN(since[k]):
			unknown += n
		case since[k] >= minTriggered*trigger:
			requested += n
		default:
			byHand += n
		}
	}

	// The first one of a recording counts as most of the others do.
	if requested >= byHand {
		requested += unknown
	} else {
		byHand += unknown
	}

	return requested, byHand, trigger
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
