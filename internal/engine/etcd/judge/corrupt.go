package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// corrupt has no commands: which copy is right is a decision, and disarming the alarm first would let
// clients write to copies that differ.
func corrupt() rules.Rule {
	rule := rules.Rule{ID: "etcd/corrupt",
		Title: "Requests are refused: a member's data differs from the others'",
		Kind:  rules.Cause, Whole: true, Sums: true,
		When:    "plimsoll:etcd_corrupt_alarm:bool > 0",
		Refutes: rules.DiskResources,
		Cause:   "Members compare hashes of their data when they start (--experimental-initial-corrupt-check, the feature gate InitialCorruptCheck from 3.6 on), at intervals or after a compaction. If a member's hash differs, etcd raises the alarm CORRUPT for it, and from then on all members answer \"etcdserver: corrupt cluster\" to reads, writes, compactions and leases.",
		Words: rules.Words{
			"alarm":       "No volume fixes this: the alarm CORRUPT has been raised for {{.for}}: etcd refuses reads, writes and leases, so clients fail immediately instead of waiting.",
			"alarm, page": "No volume fixes this: the alarm CORRUPT is raised: etcd refuses reads, writes and leases, so clients fail immediately instead of waiting.",
		},
		Advice: map[string]rules.Advice{"compare": {
			Summary:   "Do not disarm the alarm yet: find the member whose data differs (etcdctl endpoint hashkv --cluster), remove it and add it again without its data; disarm the alarm then",
			Expect:    "the member receives a snapshot of the others' data, and etcd accepts requests again as soon as the alarm is disarmed",
			TradeOff:  "no member may fail meanwhile; what only that member had is gone",
			NoCommand: "a person must decide which copy is right: if no majority of the hashes agrees, restore a snapshot"}}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		return eachMember(held, func(t timeline.Track, inst string, cells timeline.Mask) (rules.Finding, bool) {
			if cells.Count() == 0 {
				return rules.Finding{}, false
			}

			f := rule.Finding(rules.InstanceOf("etcd", inst))
			f.Severity, f.Foremost, f.Weight = rules.Critical, true, 1

			// One page has no times: it shows only that the alarm is raised.
			if c.SinceStart {
				f.Say("alarm, page", nil)
			} else {
				f.Say("alarm", rules.Values{"for": rules.Seconds(c.Seconds(cells))})
				f.Windows = c.Windows(cells)
			}

			f.Evidence = []rules.Evidence{c.Figure("members with the alarm CORRUPT", CorruptAlarm,
				timeline.Max(t.Values), "", cells)}
			f.Advise("compare", nil)
			return f, true
		})
	}

	return rule
}
