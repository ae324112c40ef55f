package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// minConcernShare is the share of the stalled waiting above which waiting for the write concern is a
// cause.
const minConcernShare = 0.15

const weakerConcern = "a weaker write concern (w: 1) hides the wait and risks a rollback at failover"

func writeConcernWait() rules.Rule {
	rule := rules.Rule{ID: "mongodb/write-concern-wait", Title: "Writes wait for their write concern",
		Kind: rules.Cause,
		When: "plimsoll:mongodb_replication_wait:ratio > 1",
		// getLastError.wtime covers awaitReplication only (write_concern.cpp).
		Cause: "The write is done here and waits until other members have it (w: 2 and more) or a majority has journaled it (w: majority; with a single member, its own journal). It waits for a slow disk on a secondary, the network, a member that is down, or this member's own journal. A write with w: 1 and j: true waits only for its journal and is not counted here.",
		Words: rules.Words{
			"waited":        "Operations waited {{.waited}} for their write concern, {{.share}} of the {{.of}} of stalled waiting.",
			"absent":        "Members that confirmed nothing meanwhile: {{.members}}. Others have to confirm instead.",
			"lagging":       "Member {{.member}} lagged by up to {{.lag}}, more than usual.",
			"alone":         "The set has no other member to wait for, and this member's journal is quick (fdatasync {{.sync}}). The majority commit point cannot pass an older write that is still executing, so these writes wait for the slow ones.",
			"journal quick": "They do not wait for this member's own journal: its fdatasync took {{.sync}}.",
			"journal slow":  "This member's own journal is slow.",
			"journal":       "See " + journalRule + ".",
		},
		Advice: map[string]rules.Advice{
			"slow writes": {Summary: "Find what makes writes execute slowly (the other findings): this wait follows from it",
				Expect: "it shrinks with that cause", TradeOff: weakerConcern, NoCommand: "this wait is only a consequence of another cause"},
			"secondaries": {Summary: "Diagnose the secondaries: run it on their diagnostic.data, and check the replication lag (flow control, network)",
				Expect: "the member that acknowledges last is found", TradeOff: weakerConcern, NoCommand: onSecondaries},
			"all members": {Summary: "Diagnose the secondaries: run it on their diagnostic.data; check this member's journal too",
				Expect: "the member that acknowledges last is found", TradeOff: weakerConcern, NoCommand: onSecondaries},
		}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		f, said, ok := wait{"mongodb writes", ReplicationWait, ofWrites, minConcernShare,
			"time waited for the write concern in the stalled time, summed"}.find(rule, c, held)
		if !ok {
			return nil
		}

		f.Say("waited", said)
		waitedFor(c, &f)

		return []rules.Finding{f}
	}

	return rule
}

// waitedFor adds what acknowledges late, if this member's counters show it.
func waitedFor(c *rules.Case, finding *rules.Finding) {
	alone := timeline.Max(c.One(Members)) == 1
	sync := c.Credited(c.One(LogSyncTime))
	each := timeline.Quantile(timeline.At(c.One(LogSync), c.Stall.Cells), 0.5)
	journalQuick := each < slowSyncS // false for NaN

	if each == each {
		finding.Evidence = append(finding.Evidence,
			c.Figure("this member's journal fdatasync while stalled, median", LogSync, each, "seconds", c.Stall.Cells),
			c.Figure("share of the stalled time in which one was in progress", LogSyncTime,
				timeline.Mean(timeline.At(sync, c.Stall.Cells)), "ratio", c.Stall.Cells))
	}

	sayMembers(c, finding)

	took := rules.Values{"sync": rules.Seconds(each)}

	// With one member, the majority is that member: only its journal or its other writes can delay
	// it.
	switch {
	case alone && journalQuick:
		finding.Say("alone", took)
		finding.Advise("slow writes", nil)
	case journalQuick:
		finding.Say("journal quick", took)
		finding.Advise("secondaries", nil)
	case each == each:
		finding.Say("journal slow", nil)
		finding.SayIf(journalRule, "journal", nil)
		finding.Advise("all members", nil)
	default:
		finding.Advise("all members", nil)
	}
}
