package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func loggedNoSpace() rules.Rule {
	rule := rules.Rule{ID: "etcd/logged-no-space", Title: "The log reports that the database is at its quota",
		Kind: rules.Cause, Whole: true,
		When:    "plimsoll:etcd_logged_no_space:rate > 0",
		Needs:   []*rules.Signal{LoggedNoSpace},
		Refutes: rules.DiskResources,
		NoAlert: "it is about a log that was read; etcd/no-space has an alert",
		Cause:   "At --quota-backend-bytes (2 GiB by default) etcd raises the alarm NOSPACE, and all members answer puts, transactions and new leases with \"mvcc: database space exceeded\" until it is disarmed.",
		Words: rules.Words{
			"lines": "The log has {{.n}} lines about the alarm NOSPACE or the exceeded space, from {{.from}} to {{.to}} UTC: etcd refused writes. No volume fixes this. Whether the alarm is still raised is not in the log: etcdctl alarm list shows it.",
		},
		Advice: map[string]rules.Advice{"compact": {Summary: "Compact the history, defragment each member, then disarm the alarm",
			Expect:   "etcd accepts writes again as soon as the alarm is disarmed",
			TradeOff: "watchers and readers lose old revisions; a member does not answer while it defragments",
			Do:       []*rules.Remedy{disarm}}}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		lines := c.One(LoggedNoSpace)
		cells := timeline.Where(lines, func(x float64) bool { return x > 0 })
		eps := cells.Episodes()
		if len(eps) == 0 {
			return nil
		}

		f := rule.Finding("etcd")
		f.Severity, f.Foremost, f.Weight = rules.Critical, true, 1
		f.Windows = c.Windows(cells)
		// The signal is a rate per second, and lines are whole.
		n := math.Round(timeline.Sum(lines) * c.Grid.StepSeconds())
		f.Say("lines", rules.Values{"n": rules.Events(n), "from": rules.Moment(c.Grid.Time(eps[0].First)),
			"to": rules.Moment(c.Grid.Time(eps[len(eps)-1].Last))})
		f.Evidence = []rules.Evidence{c.Figure("log lines about it", LoggedNoSpace, n, "", cells)}
		f.Advise("compact", nil)

		return []rules.Finding{f}
	}

	return rule
}
