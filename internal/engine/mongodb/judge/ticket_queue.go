package judge

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A ticketSide is one kind of tickets. Reads and writes have separate tickets, so each queue is
// compared only with the waiting of the same kind.
type ticketSide struct {
	kind, subject          string
	available, wait, total *rules.Signal
	queue                  *rules.Signal
	by                     waitShare
}

var ticketSides = []ticketSide{
	{"write", "write tickets", WriteTicketsAvailable, TicketWait, WriteTickets, WriteQueue, ofWrites},
	{"read", "read tickets", ReadTicketsAvailable, ReadTicketWait, ReadTickets, ReadQueue, ofReads},
}

func ticketQueue() rules.Rule {
	rule := rules.Rule{ID: "wiredtiger/ticket-queue", Title: "Operations queue for a ticket", Kind: rules.Cause,
		When: "plimsoll:mongodb_write_tickets_available:count < 1 or plimsoll:mongodb_ticket_wait:ratio > 1" +
			" or plimsoll:mongodb_read_tickets_available:count < 1 or plimsoll:mongodb_read_ticket_wait:ratio > 1",
		Needs: []*rules.Signal{},
		AnyOf: []*rules.Signal{WriteTicketsAvailable, TicketWait, ReadTicketsAvailable, ReadTicketWait},
		Cause: "The storage engine admits a limited number of reads and of writes at a time; the others queue. The queue is long because the operations inside are slow: it amplifies a stall and is seldom its origin.",
		Words: rules.Words{
			"title":        "{{.kind}}s queue for a ticket",
			"queued":       "Operations queued {{.queued}} for a {{.kind}} ticket, {{.share}} of the {{.of}} of stalled waiting.",
			"not measured": "This version does not report how long operations queued.",
			"none free":    "No {{.kind}} ticket was free in {{.share}} of the stalled time{{with .longest}}, and up to {{.}} {{$.kind}}s queued{{end}}.",
			"dynamic":      "The number of tickets fell to {{.fewest}}: from 7.0 on mongod adjusts it by itself.",
		},
		Advice: map[string]rules.Advice{
			"causes": {Summary: "Fix what makes the operations inside slow (the other causes); do not raise the number of tickets",
				Expect:    "the queue disappears with its cause",
				TradeOff:  "more tickets move the wait from the queue into the engine and make cache pressure worse",
				NoCommand: "this wait is only a consequence of another cause"},
			"long reads": {Summary: "Find the reads that hold the tickets: db.currentOp({active: true, secs_running: {$gte: 1}}); give them an index, bound them with maxTimeMS, or send them to a secondary",
				Expect:    "tickets become free sooner, and the queue disappears",
				TradeOff:  "an index costs memory and a write with each change of its keys",
				NoCommand: "the server shows these reads only while it happens"},
		}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		if len(held) == 0 || !c.Stall.Any() {
			return nil
		}

		var out []rules.Finding
		for _, side := range ticketSides {
			if f, ok := side.judge(rule, c); ok {
				out = append(out, f)
			}
		}
		return out
	}

	return rule
}

func (s ticketSide) judge(r rules.Rule, input *rules.Case) (rules.Finding, bool) {
	// Each side is judged in stalls of operations of its kind: writes do not wait for read tickets.
	if (s.kind == "read") != (input.Stall.Class == rules.Reading) {
		return rules.Finding{}, false
	}

	available := input.One(s.available)

	// The gauge is sampled, so a short shortage shows only in the wait counter.
	none := timeline.Where(available, func(x float64) bool { return x < 1 })
	share, seconds, of, measured := s.by(input, s.wait)
	exhausted := rules.Share(none, input.Stall.Cells)
	weight := share

	if !measured && input.Contrasts(none) {
		weight, _, _ = input.Attributable(none)
	}

	if measured && share < rules.MinWaitShare || !measured && exhausted < rules.MinAttributable {
		return rules.Finding{}, false
	}

	finding := r.Finding(s.subject)
	finding.Weight = weight
	// It amplifies a stall but does not start one.
	finding.Severity = rules.LessThanCritical(input.SeverityOf(finding.Weight))

	waited := timeline.Where(input.One(s.wait), func(x float64) bool { return x > 1 })
	finding.Windows = input.Windows(none.Or(waited).And(input.Stall.Cells).Close(2))
	finding.Entitle("title", rules.Values{"kind": rules.Called(map[string]string{"read": "Read",
		"write": "Write"}[s.kind])})

	if measured {
		finding.Say("queued", rules.Values{"queued": rules.Of(seconds, units.OpSeconds), "share": rules.Part(share),
			"of": rules.Of(of, units.OpSeconds), "kind": rules.Called(s.kind)})
		finding.Evidence = append(finding.Evidence,
			input.Figure("time queued for a "+s.kind+" ticket in the stalled time beyond the usual, summed", s.wait,
				seconds, units.OpSeconds, input.Stall.Cells))
	} else {
		finding.Say("not measured", nil)
	}

	s.say(input, &finding, exhausted)

	finding.Advise("causes", nil)
	if s.kind == "read" {
		finding.Advise("long reads", nil)
	}

	return finding, true
}

// say adds how many tickets were free, how many there are, and how many operations queued.
func (s ticketSide) say(c *rules.Case, f *rules.Finding, exhausted float64) {
	longest := timeline.Max(timeline.At(c.One(s.queue), c.Stall.Cells.Widen(1, 0)))
	if c.One(s.available) != nil {
		v := rules.Values{"kind": rules.Called(s.kind), "share": rules.Part(exhausted), "longest": ""}
		if longest >= 1 {
			v["longest"] = rules.Number(longest)
		}
		f.Say("none free", v)
		f.Evidence = append(f.Evidence,
			c.Figure("share of the stalled time without a free "+s.kind+" ticket", s.available, exhausted, "ratio",
				c.Stall.Cells))
	}

	if total := c.One(s.total); total != nil {
		fewest := timeline.Quantile(total, 0)
		f.Evidence = append(f.Evidence,
			c.Figure(s.kind+" tickets, fewest", s.total, fewest, "", timeline.Known(total)))
		if fewest < timeline.Max(total) {
			f.Say("dynamic", rules.Values{"fewest": rules.Number(fewest)})
		}
	}

	if longest == longest {
		f.Evidence = append(f.Evidence, c.Figure("longest queue", s.queue, longest, "", c.Stall.Cells))
	}
}
