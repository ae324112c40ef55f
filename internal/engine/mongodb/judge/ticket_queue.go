package judge

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func ticketQueue() rules.Rule {
	r := rules.Rule{ID: "wiredtiger/ticket-queue", Title: "Writes queue for a ticket", Kind: rules.Cause,
		When:  "plimsoll:mongodb_write_tickets_available:count < 1 or plimsoll:mongodb_ticket_wait:ratio > 1",
		Needs: []*rules.Signal{},
		AnyOf: []*rules.Signal{WriteTicketsAvailable, TicketWait},
		Cause: "Only so many operations may be inside the storage engine at once; the others queue. The queue is long because those inside are slow: it multiplies a stall and is seldom where one begins.",
		Words: rules.Words{
			"queued":       "Operations queued {{.queued}} for a write ticket, {{.share}} of the {{.of}} of stalled waiting.",
			"not measured": "This version does not report how long operations queued.",
			"none free":    "No ticket was free in {{.share}} of the stalled time.",
		},
		Advice: map[string]rules.Advice{"causes": {Summary: "Remove what makes the operations inside slow (the other causes); do not raise the tickets",
			Expect: "the queue goes with its cause", TradeOff: "more tickets move the wait from the queue into the engine and make cache pressure worse", NoCommand: "it follows its cause"}}}
	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		if len(held) == 0 || !c.Stall.Any() {
			return nil
		}
		available := c.One(WriteTicketsAvailable)
		none := timeline.Where(available, func(x float64) bool { return x < 1 })
		share, seconds, of, measured := c.WaitShare(TicketWait)
		exhausted := rules.Share(none, c.Stall.Cells)
		weight := share
		if !measured && c.Contrasts(none) {
			weight, _, _ = c.Attributable(none)
		}
		if measured && share < rules.MinWaitShare || !measured && exhausted < rules.MinAttributable {
			return nil
		}
		f := r.Finding("write tickets")
		f.Weight = weight
		if f.Severity = c.SeverityOf(f.Weight); f.Severity == rules.Critical {
			f.Severity = rules.Warning // a multiplier, not an origin
		}
		queued := timeline.Where(c.One(TicketWait), func(x float64) bool { return x > 1 })
		f.Windows = c.Windows(none.Or(queued).And(c.Stall.Cells).Close(2))
		if measured {
			f.Say("queued", rules.Values{"queued": rules.Of(seconds, units.OpSeconds), "share": rules.Part(share), "of": rules.Of(of, units.OpSeconds)})
			f.Evidence = append(f.Evidence, c.Figure("time queued for a write ticket in the stalled time, summed", TicketWait, seconds, units.OpSeconds, c.Stall.Cells))
		} else {
			f.Say("not measured", nil)
		}
		if available != nil {
			f.Say("none free", rules.Values{"share": rules.Part(exhausted)})
			f.Evidence = append(f.Evidence, c.Figure("share of the stalled time without a free write ticket", WriteTicketsAvailable, exhausted, "ratio", c.Stall.Cells))
		}
		if total := c.One(WriteTickets); total != nil {
			f.Evidence = append(f.Evidence, c.Figure("write tickets, fewest", WriteTickets, timeline.Quantile(total, 0), "", timeline.Known(total)))
		}
		if q := c.One(WriteQueue); q != nil {
			f.Evidence = append(f.Evidence, c.Figure("longest queue", WriteQueue, timeline.Max(q), "", timeline.Known(q)))
		}
		f.Advise("causes", nil)
		return []rules.Finding{f}
	}
	return r
}
