package rules

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

func wiredtigerTicketQueue() Rule {
	r := Rule{ID: "wiredtiger/ticket-queue", Title: "Writes queue for a ticket", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:mongodb_write_tickets_available:count < 1 or plimsoll:mongodb_ticket_wait:ratio > 1",
		Needs: []string{},
		AnyOf: []string{SignalPrefix + "mongodb_write_tickets_available:count", SignalPrefix + "mongodb_ticket_wait:ratio"},
		Cause: "Only so many operations may be inside the storage engine at once; the others queue. The queue is long because those inside are slow: it multiplies a stall and is seldom where one begins."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		if len(held) == 0 || !c.Stall.Any() {
			return nil
		}
		available := c.One(SignalPrefix + "mongodb_write_tickets_available:count")
		none := timeline.Where(available, func(x float64) bool { return x < 1 })
		share, seconds, of, measured := c.WaitShare(SignalPrefix + "mongodb_ticket_wait:ratio")
		exhausted := Share(none, c.Stall.Cells)
		weight := share
		if !measured && c.contrasts(none) {
			weight, _, _ = c.Attributable(none)
		}
		if measured && share < minWaitShare || !measured && exhausted < minAttributable {
			return nil
		}
		f := r.finding("write tickets")
		f.Weight = weight
		if f.Severity = c.severityOf(f.Weight); f.Severity == Critical {
			f.Severity = Warning // a multiplier, not an origin
		}
		queued := timeline.Where(c.One(SignalPrefix+"mongodb_ticket_wait:ratio"), func(x float64) bool { return x > 1 })
		f.Windows = c.Windows(none.Or(queued).And(c.Stall.Cells).Close(2))
		if measured {
			f.Summary = fmt.Sprintf("Operations queued %s for a write ticket, %s of the %s of stalled waiting.", opSeconds(seconds), pct(share), opSeconds(of))
			f.Evidence = append(f.Evidence, c.figure("time queued for a write ticket in the stalled time, summed", SignalPrefix+"mongodb_ticket_wait:ratio", seconds, units.OpSeconds, c.Stall.Cells))
		} else {
			f.Summary = "How long operations queued this version does not tell."
		}
		if available != nil {
			f.Summary += fmt.Sprintf(" No ticket was free in %s of the stalled time.", pct(exhausted))
			f.Evidence = append(f.Evidence, c.figure("share of the stalled time without a free write ticket", SignalPrefix+"mongodb_write_tickets_available:count", exhausted, "ratio", c.Stall.Cells))
		}
		if total := c.One(SignalPrefix + "mongodb_write_tickets:count"); total != nil {
			f.Evidence = append(f.Evidence, c.figure("write tickets, fewest", SignalPrefix+"mongodb_write_tickets:count", timeline.Quantile(total, 0), "", timeline.Known(total)))
		}
		if q := c.One(SignalPrefix + "mongodb_write_queue:count"); q != nil {
			f.Evidence = append(f.Evidence, c.figure("longest queue", SignalPrefix+"mongodb_write_queue:count", timeline.Max(q), "", timeline.Known(q)))
		}
		f.Fixes = []Fix{{Summary: "Remove what makes the operations inside slow (the other causes); do not raise the tickets",
			Expect: "the queue goes with its cause", TradeOff: "more tickets move the wait from the queue into the engine and make cache pressure worse"}}
		return []Finding{f}
	}
	return r
}
