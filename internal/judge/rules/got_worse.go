package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// A Change is a period in which operations took clearly longer than usual, without a stall.
type Change struct {
	Stall Stall // the operations
	Cells timeline.Mask
	// UsualS and ThenS are median latencies in seconds, UsualOps and ThenOps completions per second.
	UsualS, ThenS, UsualOps, ThenOps float64
	// Connected is how many clients were connected, if no latency is known. The latencies are then
	// clients over completions, and only their ratio is meaningful.
	Connected float64
	Growing   bool // the latency grew steadily
	SameLoad  bool // no more operations completed
}

// LessDone reports whether clearly fewer operations completed although as many waited.
func (x Change) LessDone() bool { return x.ThenOps < lessDone*x.UsualOps }

const lessDone = 0.75

func gotWorse() Rule {
	r := Rule{ID: "evidence/got-worse", Title: "It got slower, without a stall", Kind: Symptom,
		Needs:   []*Signal{},
		NoAlert: "it compares a period with the rest of the recording",
		Cause:   "Operations took clearly longer than usual for a good part of the time. No client was blocked for long, but clients that send one request after the other got that much less done.",
		Words: Words{
			"slower":    "{{.clients}} took {{.then}} instead of the usual {{.usual}} ({{.times}} times as long), for {{.for}}.",
			"fewer":     "{{.clients}}: {{.thenOps}} completed, usually {{.usualOps}}, for {{.for}}, while {{.connected}} clients stayed connected. These figures do not show whether clients sent less or each operation took longer.",
			"grew":      "{{.clients}} took {{.usual}} at first and {{.then}} at the end ({{.times}} times as long), growing over {{.for}}.",
			"same load": "The load was no higher meanwhile: {{.thenOps}} completed, usually {{.usualOps}}.",
			"less":      "Throughput fell: {{.thenOps}} completed, usually {{.usualOps}}, while as many waited.",
			"more load": "The load was higher meanwhile: {{.thenOps}} completed, usually {{.usualOps}}.",
		},
		Advice: map[string]Advice{"compare": {Summary: "Find out what changed then: the kind of load, a volume's credits or its neighbours, a query plan, a cache that no longer holds the data",
			Expect: "you find what made it slower, before it stalls", TradeOff: "none",
			NoCommand: "first find out what changed"}}}

	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		x := c.Change
		if x == nil {
			return nil
		}

		f := r.Finding(x.Stall.Subject)
		f.Severity = Warning
		f.Weight = float64(x.Cells.Count()) / float64(max(1, x.Stall.Observed.Count()))
		f.Windows = c.Windows(x.Cells.Close(c.Cells(60e9)))
		v := Values{"clients": Called(x.Stall.Called()), "then": Seconds(x.ThenS), "usual": Seconds(x.UsualS),
			"times": Number(x.ThenS / x.UsualS), "for": Seconds(c.Seconds(x.Cells)),
			"thenOps": Of(x.ThenOps, "1/s"), "usualOps": Of(x.UsualOps, "1/s"),
			"connected": Number(math.Round(x.Connected))}

		completions := []Evidence{
			c.Figure("completions in that period, median", nil, x.ThenOps, "1/s", x.Cells),
			c.Figure("usual completions", nil, x.UsualOps, "1/s", x.Stall.Observed),
		}

		f.Advise("compare", nil)
		if x.Connected > 0 {
			// The load of any service varies, while clients stay connected through their pools.
			f.Severity = Info
			f.Say("fewer", v)
			f.Evidence = completions
			return []Finding{f}
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
			f.Severity = Info
		}

		f.Evidence = append([]Evidence{
			c.Figure("mean latency per interval in that period, median", nil, x.ThenS, "seconds", x.Cells),
			c.Figure("usual mean latency per interval", nil, x.UsualS, "seconds", x.Stall.Observed),
		}, completions...)

		return []Finding{f}
	}

	return r
}
