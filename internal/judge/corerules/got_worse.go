package corerules

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func gotWorse() rules.Rule {
	r := rules.Rule{ID: "evidence/got-worse", Title: "It got slower, without a stall", Kind: rules.Symptom,
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

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		x := c.Change
		if x == nil {
			return nil
		}

		f := r.Finding(x.Stall.Subject)
		f.Severity = rules.Warning
		f.Weight = float64(x.Cells.Count()) / float64(max(1, x.Stall.Observed.Count()))
		f.Windows = c.Windows(x.Cells.Close(c.Cells(60e9)))
		v := rules.Values{
			"clients":   rules.Called(x.Stall.Called()),
			"then":      rules.Seconds(x.ThenS),
			"usual":     rules.Seconds(x.UsualS),
			"times":     rules.Number(x.ThenS / x.UsualS),
			"for":       rules.Seconds(c.Seconds(x.Cells)),
			"thenOps":   rules.Of(x.ThenOps, "1/s"),
			"usualOps":  rules.Of(x.UsualOps, "1/s"),
			"connected": rules.Number(math.Round(x.Connected)),
		}

		completions := []rules.Evidence{
			c.Figure("completions in that period, median", nil, x.ThenOps, "1/s", x.Cells),
			c.Figure("usual completions", nil, x.UsualOps, "1/s", x.Stall.Observed),
		}

		f.Advise("compare", nil)
		if x.Connected > 0 {
			// The load of any service varies, while clients stay connected through their pools.
			f.Severity = rules.Info
			f.Say("fewer", v)
			f.Evidence = completions
			return []rules.Finding{f}
		}

		if x.Growing {
			f.Say("grew", v)
		} else {
			f.Say("slower", v)
		}

		switch {
		case x.LessDone():
			f.Say("less", v)
		case x.SameLoad:
			f.Say("same load", v)
		default:
			f.Say("more load", v)
			f.Severity = rules.Info
		}

		f.Evidence = append([]rules.Evidence{
			c.Figure("mean latency per interval in that period, median", nil, x.ThenS, "seconds", x.Cells),
			c.Figure("usual mean latency per interval", nil, x.UsualS, "seconds", x.Stall.Observed),
		}, completions...)

		return []rules.Finding{f}
	}

	return r
}
