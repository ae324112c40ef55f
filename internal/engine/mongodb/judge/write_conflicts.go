package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Conflicts matter if they are frequent, if each completed write had at least half a conflict, and
// if they are far more frequent than usual.
const (
	leastConflicts   = 20.0 // per second
	conflictsAWrite  = 0.5
	conflictsUnusual = 3.0 // times the calm median
)

// WriteConflicts counts attempts that failed because another transaction changed the same document.
// The server retries by itself.
var WriteConflicts = signal("mongodb_write_conflicts:rate",
	"1/s", "writes per second that conflicted with another write of the same document and were retried",
	`irate(mongodb_ss_metrics_operation_writeConflicts[$w])`)

func writeConflicts() rules.Rule {
	rule := rules.Rule{ID: "mongodb/write-conflicts", Title: "Writes of the same documents conflict",
		Kind:  rules.Cause,
		When:  "plimsoll:mongodb_write_conflicts:rate > 20 and on() (plimsoll:mongodb_write_conflicts:rate > 0.5 * plimsoll:mongodb_writes:rate)",
		Cause: "Two operations change the same document at the same time: one wins, the other discards its work and retries after a growing pause. With many clients on one document (a counter, a queue's head) most attempts fail. Anything that makes operations slow makes conflicts more frequent too.",
		Words: rules.Words{
			"no volume": "No volume fixes this: writes change the same documents.",
			"conflicts": "No volume fixes this. {{.then}} conflicts per second while stalled, {{.each}} for each write that completed{{with .usual}} (usually {{.}} per second){{end}}.",
		},
		Advice: map[string]rules.Advice{"spread": {Summary: "Find the hot document (the log's slow operations with many writeConflicts) and spread it: several counters that are summed, one document for each client, $inc in batches; shorter transactions",
			Expect: "attempts succeed the first time", TradeOff: "reads have to add up the parts",
			NoCommand: "it depends on the documents and the application"}}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		rate, writes := input.One(WriteConflicts), input.One(Writes)
		usual := timeline.Quantile(timeline.At(rate, input.NotStalled()), 0.5)

		cells := make(timeline.Mask, input.Grid.N)
		for k := range min(len(rate), len(writes)) {
			// Negated so that an unknown calm rate (NaN) does not exclude the cell.
			cells[k] = rate[k] >= leastConflicts && rate[k] >= conflictsAWrite*writes[k] &&
				!(rate[k] < conflictsUnusual*usual)
		}

		fraction, pIn, pOut := input.Attributable(cells)
		if !input.Stall.Any() || input.Stall.Class != rules.Writing || fraction < rules.MinAttributable ||
			pIn < rules.StallRatio*pOut || !input.Contrasts(cells) {
			return nil
		}

		finding := rule.Finding("mongodb writes")
		finding.Weight = fraction
		// Slow operations conflict more, so another cause may be behind it.
		finding.Severity = rules.LessThanCritical(input.SeverityOf(fraction))

		finding.Windows = input.Windows(cells.And(input.Stall.Cells))
		at := cells.And(input.Stall.Cells)
		then := timeline.Mean(timeline.At(rate, at))
		said := rules.Values{"then": rules.Number(then),
			"each": rules.Number(then / max(timeline.Mean(timeline.At(writes, at)), 1)), "usual": ""}

		if usual > 0 {
			said["usual"] = rules.Number(usual)
		}

		finding.Say("conflicts", said)
		finding.Evidence = []rules.Evidence{
			input.Figure("conflicts per second while stalled, mean", WriteConflicts, then, "1/s", at),
			input.Figure("share of the time that stalled with so many conflicts", WriteConflicts, pIn, "ratio", cells),
			input.Figure("share of the time that stalled without", WriteConflicts, pOut, "ratio", cells.Not()),
		}

		if fraction >= noVolumeFrom {
			finding.Open("no volume", nil)
		}

		finding.Advise("spread", nil)
		return []rules.Finding{finding}
	}

	return rule
}
