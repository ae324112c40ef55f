package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// A Change is a stretch in which operations took clearly longer than usual, without a stall.
type Change struct {
	Stall Stall // whose
	Cells timeline.Mask
	// UsualS and ThenS are median latencies in seconds, UsualOps and ThenOps completions per second.
	UsualS, ThenS, UsualOps, ThenOps float64
	// Connected is how many clients had a connection there, where no latency is known: then the
	// latencies are clients over completions, and only their ratio means something.
	Connected float64
	Growing   bool // it grew all the time
	SameLoad  bool // no more completed
}

// LessDone reports whether clearly fewer operations completed while as many waited.
func (x Change) LessDone() bool { return x.ThenOps < lessDone*x.UsualOps }

const lessDone = 0.75

func gotWorse() Rule {
	r := Rule{ID: "evidence/got-worse", Title: "It got slower, without a stall", Kind: Symptom,
		Needs:   []*Signal{},
		NoAlert: "it compares a stretch of time with all the rest",
		Cause:   "Operations took clearly longer for a good part of the time than they usually do. Nobody was held up for long, and yet clients that ask one thing after the other got that much less done.",
		Words: Words{
			"slower":    "{{.clients}} took {{.then}} where {{.usual}} is usual ({{.times}} times as long), for {{.for}}.",
			"fewer":     "{{.clients}}: {{.thenOps}} completed, usually {{.usualOps}}, for {{.for}}, while {{.connected}} clients stayed connected. Whether less was asked or each took longer is not in these figures.",
			"grew":      "{{.clients}} took {{.usual}} at first and {{.then}} in the end ({{.times}} times as long), growing over {{.for}}.",
			"same load": "No more was asked meanwhile: {{.thenOps}} completed, usually {{.usualOps}}.",
			"less":      "Less was done: {{.thenOps}} completed, usually {{.usualOps}}, while as many waited.",
			"more load": "More was asked meanwhile: {{.thenOps}} completed, usually {{.usualOps}}.",
		},
		Advice: map[string]Advice{"compare": {Summary: "Compare what changed there: the load's kind, a volume's credits or its neighbours, a plan, a cache that no longer holds the data",
			Expect: "what made it slower, before it stalls", TradeOff: "none",
			NoCommand: "what changed has to be found first"}}}

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
			c.Figure("completions there, median", nil, x.ThenOps, "1/s", x.Cells),
			c.Figure("usual completions", nil, x.UsualOps, "1/s", x.Stall.Observed),
		}

		f.Advise("compare", nil)
		if x.Connected > 0 {
			// What is asked for varies in any service, and clients stay connected to their pools.
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
			c.Figure("mean latency of an interval there, median", nil, x.ThenS, "seconds", x.Cells),
			c.Figure("usual mean latency of an interval", nil, x.UsualS, "seconds", x.Stall.Observed),
		}, completions...)

		return []Finding{f}
	}

	return r
}
