package corerules

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func gotWorse() rules.Rule {
	rule := rules.Rule{ID: "evidence/got-worse", Title: "It got slower, without a stall", Kind: rules.Symptom,
		Needs:   []*rules.Signal{},
		NoAlert: "it compares a period with the rest of the recording",
		Cause:   "Operations took clearly longer than usual for a good part of the time. No client was blocked for long, but clients that send one request after the other got that much less done.",
		Words: rules.Words{
			"slower":    "{{.clients}} took {{.then}} instead of the usual {{.usual}} ({{.times}} times as long), for {{.for}}.",
			"fewer":     "{{.clients}}: {{.thenOps}} completed, usually {{.usualOps}}, for {{.for}}, while {{.connected}} clients stayed connected. These figures do not show whether clients sent less or each operation took longer.",
			"grew":      "{{.clients}} took {{.usual}} at first and {{.then}} at the end ({{.times}} times as long), growing over {{.for}}.",
			"same load": "The load was no higher meanwhile: {{.thenOps}} completed, usually {{.usualOps}}.",
			"less":      "Throughput fell: {{.thenOps}} completed, usually {{.usualOps}}, while as many waited.",
			"more load": "The load was higher meanwhile: {{.thenOps}} completed, usually {{.usualOps}}.",
		},
		Advice: map[string]rules.Advice{"compare": {Summary: "Find out what changed then: the kind of load, a volume's credits or its neighbours, a query plan, a cache that no longer holds the data",
			Expect: "you find what made it slower, before it stalls", TradeOff: "none",
			NoCommand: "first find out what changed"}}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		change := input.Change
		if change == nil {
			return nil
		}

		finding := rule.Finding(change.Stall.Subject)
		finding.Severity = rules.Warning
		finding.Weight = float64(change.Cells.Count()) / float64(max(1, change.Stall.Observed.Count()))
		finding.Windows = input.Windows(change.Cells.Close(input.Cells(60e9)))
		values := rules.Values{
			"clients":   rules.Called(change.Stall.Called()),
			"then":      rules.Seconds(change.ThenS),
			"usual":     rules.Seconds(change.UsualS),
			"times":     rules.Number(change.ThenS / change.UsualS),
			"for":       rules.Seconds(input.Seconds(change.Cells)),
			"thenOps":   rules.Of(change.ThenOps, "1/s"),
			"usualOps":  rules.Of(change.UsualOps, "1/s"),
			"connected": rules.Number(math.Round(change.Connected)),
		}

		completions := []rules.Evidence{
			input.Figure("completions in that period, median", nil, change.ThenOps, "1/s", change.Cells),
			input.Figure("usual completions", nil, change.UsualOps, "1/s", change.Stall.Observed),
		}

		finding.Advise("compare", nil)
		if change.Connected > 0 {
			// The load of any service varies, while clients stay connected through their pools.
			finding.Severity = rules.Info
			finding.Say("fewer", values)
			finding.Evidence = completions
			return []rules.Finding{finding}
		}

		if change.Growing {
			finding.Say("grew", values)
		} else {
			finding.Say("slower", values)
		}

		switch {
		case change.LessDone():
			finding.Say("less", values)
		case change.SameLoad:
			finding.Say("same load", values)
		default:
			finding.Say("more load", values)
			finding.Severity = rules.Info
		}

		finding.Evidence = append([]rules.Evidence{
			input.Figure("mean latency per interval in that period, median", nil, change.ThenS, "seconds", change.Cells),
			input.Figure("usual mean latency per interval", nil, change.UsualS, "seconds", change.Stall.Observed),
		}, completions...)

		return []rules.Finding{finding}
	}

	return rule
}
