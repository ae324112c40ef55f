package rules

import (
	"fmt"

	"plimsoll/timeline"
)

// minConcernShare is the part of the stalled waiting time from which waiting for the
// write concern is a cause.
const minConcernShare = 0.15

func mongodbWriteConcernWait() Rule {
	r := Rule{ID: "mongodb/write-concern-wait", Title: "Writes wait for their write concern", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:mongodb_replication_wait:ratio > 1",
		Cause: "The write is done here and waits to be acknowledged: for this member's journal (j: true) and, with w: majority, for other members to apply and journal it. A slow disk on a secondary, the network, or this member's own journal is what it waits for."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
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
		f.Evidence = []Evidence{c.figure("time waited for the write concern in the stalled time, summed", SignalPrefix+"mongodb_replication_wait:ratio", seconds, "seconds", c.Stall.Cells)}
		sync := c.Credited(c.One(SignalPrefix + "wt_log_sync_time:ratio"))
		each := c.One(SignalPrefix + "wt_log_sync:seconds")
		fix := Fix{Summary: "Diagnose the secondaries: hand over their diagnostic.data; look at this member's journal too", Expect: "the member that acknowledges last is found", TradeOff: "a weaker write concern (w: 1) hides the wait and risks a rollback at failover"}
		if sync != nil && each != nil {
			in, typical := timeline.Mean(timeline.At(sync, c.Stall.Cells)), timeline.Quantile(timeline.At(each, c.Stall.Cells), 0.5)
			f.Evidence = append(f.Evidence,
				c.figure("this member's journal fdatasync while stalled, median", SignalPrefix+"wt_log_sync:seconds", typical, "seconds", c.Stall.Cells),
				c.figure("share of the stalled time one was under way", SignalPrefix+"wt_log_sync_time:ratio", in, "ratio", c.Stall.Cells))
			if typical < slowSyncS && typical == typical {
				f.Summary += fmt.Sprintf(" This member's own journal is not what they wait for: its fdatasync took %s.", dur(typical))
				fix.Summary = "Diagnose the secondaries: hand over their diagnostic.data, and look at the replication lag (flow control, network)"
			} else if in > 0.3 {
				f.Summary += " This member's own journal is slow: see wiredtiger/journal-stall."
			}
		}
		f.Fixes = []Fix{fix}
		return []Finding{f}
	}
	return r
}
