package rules

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// minConcernShare is the part of the stalled waiting time from which waiting for the
// write concern is a cause.
const minConcernShare = 0.15

func mongodbWriteConcernWait() Rule {
	r := Rule{ID: "mongodb/write-concern-wait", Title: "Writes wait for their write concern", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:mongodb_replication_wait:ratio > 1",
		Cause: "The write is done here and waits to be acknowledged: for this member's journal (j: true) and, with w: majority, for other members to apply and journal it. A slow disk on a secondary, the network, or this member's own journal is what it waits for."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		if c.Stall.Rule == "mongodb/slow-reads" {
			return nil // reads wait for no write concern; what writes waited meanwhile is not why
		}
		share, seconds, of, ok := c.WaitShare(SignalPrefix + "mongodb_replication_wait:ratio")
		if !ok || share < minConcernShare {
			return nil
		}
		f := r.finding("mongodb writes")
		f.Weight = share
		f.Severity = c.severityOf(share)
		if len(held) > 0 {
			f.Windows = c.Windows(timeline.Known(held[0].Values).And(c.Stall.Cells).Close(3))
		}
		f.Summary = fmt.Sprintf("Operations waited %s for their write concern, %s of the %s they were stalled.", opSeconds(seconds), pct(share), opSeconds(of))
		f.Evidence = []Evidence{c.figure("time waited for the write concern in the stalled time, summed", SignalPrefix+"mongodb_replication_wait:ratio", seconds, units.OpSeconds, c.Stall.Cells)}
		f.Fixes = []Fix{r.waitedFor(c, &f)}
		return []Finding{f}
	}
	return r
}

// maxLagS is a lag no member of a working set has: an arbiter's time of last write is the epoch.
const maxLagS = 1e6

// waitedFor says what acknowledges late, as far as this member can tell.
func (r Rule) waitedFor(c *Case, f *Finding) Fix {
	alone := timeline.Max(c.One(SignalPrefix+"mongodb_members:count")) == 1
	sync := c.Credited(c.One(SignalPrefix + "wt_log_sync_time:ratio"))
	each := timeline.Quantile(timeline.At(c.One(SignalPrefix+"wt_log_sync:seconds"), c.Stall.Cells), 0.5)
	journalQuick := each < slowSyncS // false for NaN
	if each == each {
		f.Evidence = append(f.Evidence,
			c.figure("this member's journal fdatasync while stalled, median", SignalPrefix+"wt_log_sync:seconds", each, "seconds", c.Stall.Cells),
			c.figure("share of the stalled time one was under way", SignalPrefix+"wt_log_sync_time:ratio", timeline.Mean(timeline.At(sync, c.Stall.Cells)), "ratio", c.Stall.Cells))
	}
	lagging, lag := c.laggingMember()
	if lag > 0 {
		f.Evidence = append(f.Evidence, c.figure("lag of member "+lagging+" while stalled, worst", SignalPrefix+"mongodb_member_lag:seconds", lag, "seconds", c.Stall.Cells))
	}
	weaker := "a weaker write concern (w: 1) hides the wait and risks a rollback at failover"
	switch {
	case alone && journalQuick:
		f.Summary += fmt.Sprintf(" The set has no other member to wait for, and this one's journal is quick (fdatasync %s): a majority's point in time cannot pass an older write that still executes, so these wait for the slow ones.", dur(each))
		return Fix{Summary: "Look at what makes writes execute slowly (the other findings): this wait follows them",
			Expect: "it shrinks with them", TradeOff: weaker}
	case journalQuick:
		f.Summary += fmt.Sprintf(" This member's own journal is not what they wait for: its fdatasync took %s.", dur(each))
		return Fix{Summary: "Diagnose the secondaries: hand over their diagnostic.data, and look at the replication lag (flow control, network)",
			Expect: "the member that acknowledges last is found", TradeOff: weaker}
	case each == each:
		f.Summary += " This member's own journal is slow: see wiredtiger/journal-stall."
	}
	return Fix{Summary: "Diagnose the secondaries: hand over their diagnostic.data; look at this member's journal too",
		Expect: "the member that acknowledges last is found", TradeOff: weaker}
}

// laggingMember is the member whose last write was furthest behind while writes stalled.
func (c *Case) laggingMember() (member string, lagS float64) {
	for _, t := range c.Signal(SignalPrefix + "mongodb_member_lag:seconds") {
		if worst := timeline.Max(timeline.At(t.Values, c.Stall.Cells)); worst > lagS && worst < maxLagS {
			member, lagS = t.Labels.Get("member_idx"), worst
		}
	}
	return member, lagS
}
