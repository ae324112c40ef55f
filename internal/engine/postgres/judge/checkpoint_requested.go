package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func checkpointRequested() rules.Rule {
	rule := rules.Rule{ID: "postgres/checkpoint-requested", Title: "WAL volume forces checkpoints early",
		Kind: rules.Cause, Storage: true,
		When:    "plimsoll:postgres_checkpoints_requested:rate > 0",
		Needs:   []*rules.Signal{CheckpointsRequested, CheckpointsTimed},
		NoAlert: "it is judged by totals over the whole recording; a single requested checkpoint is not a fault",
		Cause:   "Once the WAL reaches its limit (max_wal_size), a checkpoint starts immediately and is paced by the remaining WAL if that runs out before the clock does. After each checkpoint, the first change to every page writes a full-page image, which fills the WAL sooner still: a feedback loop.",
		Words:   rules.Words{"requested": "{{.requested}} of {{.all}} checkpoints were requested, not timed{{with .every}}, one every {{.}}{{end}}: the WAL reached its limit before checkpoint_timeout expired{{if not .known}}, or someone requested them manually (CHECKPOINT, a base backup, CREATE DATABASE); the amount of WAL is unknown{{end}}.{{with .hand}} {{.}} more were requested manually, with little WAL since the previous one.{{end}}"},
		Advice: map[string]rules.Advice{"more WAL": {Summary: "Raise max_wal_size until checkpoint_timeout triggers the checkpoints{{with .need}}: about {{.}} at this write rate{{end}}",
			Expect: "fewer checkpoints and less WAL", TradeOff: "more disk space for WAL, longer recovery",
			Do: []*rules.Remedy{moreWAL}}}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		step := input.Grid.StepSeconds()
		timed := timeline.Sum(input.One(CheckpointsTimed)) * step
		requested, byHand, trigger := byWAL(input)

		// One request may be chance, and a minority of them is not what sets the pace.
		if requested < 2 || requested < timed {
			return nil
		}

		finding := rule.Finding("postgres")
		when := timeline.Where(input.One(CheckpointsRequested), func(x float64) bool { return x > 0 })
		finding.Severity = rules.Info

		if ck, ok := findCheckpoints(&input.Signals); ok && input.Stall.Any() {
			if finding.Weight = worstPhase(input, ck).fraction; finding.Weight >= rules.MinAttributable {
				finding.Severity = rules.Warning
			}
		}

		finding.Windows = input.Windows(when)
		finding.PeriodS = input.Period(when)
		finding.Say("requested", rules.Values{"requested": rules.Events(requested),
			"all":   rules.Events(requested + byHand + timed),
			"every": rules.If(finding.PeriodS > 0, rules.Seconds(finding.PeriodS)),
			"known": rules.If(trigger > 0, "known"), "hand": rules.If(byHand >= 1, rules.Events(byHand))})
		finding.Evidence = []rules.Evidence{
			input.Figure("checkpoints requested", CheckpointsRequested, math.Round(requested), "", when),
			input.Figure("checkpoints by timeout", CheckpointsTimed, math.Round(timed), "", when),
		}

		if wal := input.One(WALGenerated); wal != nil {
			finding.Evidence = append(finding.Evidence,
				input.Figure("WAL generated, mean", WALGenerated, timeline.Mean(wal), "bytes/s", timeline.Known(wal)))
		}

		if m := input.One(MaxWALSize); m != nil {
			finding.Evidence = append(finding.Evidence,
				input.Figure("max_wal_size", MaxWALSize, timeline.Max(m), "bytes", timeline.Known(m)))
		}

		need := walNeeded(input, requested)
		if need > 0 {
			finding.Evidence = append(finding.Evidence,
				input.Figure("max_wal_size needed for checkpoint_timeout to come first, at this rate", MaxWALSize, need,
					"bytes", when))
		}

		finding.Advise("more WAL", rules.Values{"need": rules.If(need > 0, rules.Bytes(need))})
		return []rules.Finding{finding}
	}

	return rule
}

// minTriggered is the share of the triggering amount of WAL above which a checkpoint counts as
// requested because of its WAL. It is below 1 because WAL is counted per interval, and the first
// checkpoint's count is incomplete.
const minTriggered = 0.5

// byWAL separates checkpoints requested because of their WAL from manual ones: CHECKPOINT, a base
// backup, CREATE DATABASE with STRATEGY file_copy, a restart. Manual ones have little WAL since the
// previous checkpoint. If the WAL or its limit is not measured, all of them count as requested
// because of the WAL, and trigger is 0.
//
// PostgreSQL requests a checkpoint once max_wal_size / (1 + checkpoint_completion_target) of WAL
// has been written since the last one began (CalculateCheckpointSegments in xlog.c, 11 to 18).
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

	// For the first checkpoint of a recording the WAL before it is unknown: it goes with the
	// majority.
	if requested >= byHand {
		requested += unknown
	} else {
		byHand += unknown
	}

	return requested, byHand, trigger
}

// walNeeded returns the max_wal_size at which, at the observed rate, checkpoint_timeout would
// trigger the checkpoints. The WAL between two checkpoints is proportional to max_wal_size
// (PostgreSQL's CalculateCheckpointSegments), so both must grow by the same factor. It is 0 if
// unknown or no larger.
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
