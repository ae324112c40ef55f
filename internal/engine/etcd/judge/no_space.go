package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// spaceToGain is the share of the file that a defragmentation must free to be worth its pause.
const spaceToGain = 0.1

func noSpace() rules.Rule {
	rule := rules.Rule{ID: "etcd/no-space", Title: "Writes are refused: the database is at its quota",
		Kind: rules.Cause, Whole: true, Sums: true,
		When:    "plimsoll:etcd_database_size:bytes >= plimsoll:etcd_quota:bytes or plimsoll:etcd_no_space_alarm:bool > 0",
		Needs:   []*rules.Signal{DatabaseSize},
		AnyOf:   []*rules.Signal{QuotaSetting, NoSpaceAlarm},
		Refutes: rules.DiskResources,
		Cause:   "Before each put, transaction and new lease etcd compares the size of its file with --quota-backend-bytes (2 GiB by default). At the quota it raises the alarm NOSPACE, and from then on all members answer \"mvcc: database space exceeded\". Reads and deletions continue. Deleting does not shrink the file, and the alarm stays until it is disarmed.",
		Words: rules.Words{
			"not the disk": "No volume fixes this:",
			"full":         "the file has been at {{.size}} with a quota of {{.quota}} for {{.for}}: etcd refuses puts, transactions and leases, so clients fail immediately instead of waiting.",
			"full, page":   "the file is {{.size}} with a quota of {{.quota}}: etcd refuses puts, transactions and leases, so clients fail immediately instead of waiting.",
			"alarm":        "the alarm NOSPACE is raised although the file ({{.size}}) is below the quota: it stays until it is disarmed, and until then etcd refuses puts, transactions and leases.",
			"gain":         "{{.use}} of the file is in use: a defragmentation frees {{.gain}}.",
			"in use":       "{{.use}} of the file is in use: only compaction, deletion or a larger quota makes room.",
			"fell":         "Proposals fell from {{.before}} to {{.now}} per second.",
		},
		Advice: map[string]rules.Advice{
			"compact": {Summary: "Compact the history, defragment each member, then disarm the alarm",
				Expect:   "the file shrinks to what is in use, and etcd accepts writes again as soon as the alarm is disarmed",
				TradeOff: "watchers and readers lose old revisions; a member does not answer while it defragments",
				Do:       []*rules.Remedy{disarm}},
			"disarm": {Summary: "Disarm the alarm: there is room", Expect: "etcd accepts writes again",
				TradeOff: "none", Do: []*rules.Remedy{disarm}},
			"quota": {Summary: "Find what fills it (events, leases without a TTL, large values) and turn on --auto-compaction-retention; a quota of up to 8 GiB is an option",
				Expect:    "it does not fill up again",
				TradeOff:  "a larger database takes longer to defragment, snapshot and load",
				NoCommand: "it depends on the writers, and a new quota needs a restart of each member"},
		}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		return eachMember(c.Signal(DatabaseSize),
			func(size timeline.Track, inst string, _ timeline.Mask) (rules.Finding, bool) {
				return noSpaceFinding(rule, c, size.Values, inst)
			})
	}

	return rule
}

func noSpaceFinding(r rules.Rule, input *rules.Case, size []float64, inst string) (rules.Finding, bool) {
	quota, alarm := input.For(Quota, "instance", inst), input.For(NoSpaceAlarm, "instance", inst)

	full := make(timeline.Mask, input.Grid.N)
	for k, x := range size {
		full[k] = quota != nil && x >= quota[k]
	}

	cells := full.Or(timeline.Where(alarm, func(x float64) bool { return x > 0 }))
	if cells.Count() == 0 {
		return rules.Finding{}, false
	}

	finding := r.Finding(rules.InstanceOf("etcd", inst))
	finding.Severity, finding.Foremost, finding.Weight = rules.Critical, true, 1
	finding.Say("not the disk", nil)
	at, most := timeline.Max(timeline.At(size, cells)), timeline.Max(timeline.At(quota, cells))

	v := rules.Values{"size": rules.Bytes(at), "quota": rules.Bytes(most),
		"for": rules.Seconds(input.Seconds(full))}
	switch {
	case full.Count() > 0 && input.SinceStart:
		finding.Say("full, page", v)
	case full.Count() > 0:
		finding.Say("full", v)
	default:
		finding.Say("alarm", v)
	}

	if !input.SinceStart {
		finding.Windows = input.Windows(cells)
	}

	finding.Evidence = []rules.Evidence{input.Figure("size of the database's file", DatabaseSize, at, "bytes",
		cells),
		input.Figure("quota", Quota, most, "bytes", cells)}

	used := timeline.Quantile(timeline.At(input.For(DatabaseInUse, "instance", inst), cells), 0.5)
	if !math.IsNaN(used) {
		finding.Evidence = append(finding.Evidence, input.Figure("part of the file in use", DatabaseInUse, used,
			"bytes", cells))
	}

	// Below the quota only the alarm is left to disarm.
	switch {
	case full.Count() == 0:
		finding.Advise("disarm", nil)
	case used < (1-spaceToGain)*at:
		finding.Say("gain", rules.Values{"use": rules.Part(used / at), "gain": rules.Bytes(at - used)})
		finding.Advise("compact", nil)
	case used >= 0:
		finding.Say("in use", rules.Values{"use": rules.Part(used / at)})
		finding.Advise("compact", nil)
	default:
		finding.Advise("compact", nil)
	}

	finding.Advise("quota", nil)

	if rate := input.For(ProposalsCommitted, "instance", inst); rate != nil && !input.SinceStart {
		before, now := timeline.Quantile(timeline.At(rate, cells.Not()), 0.5),
			timeline.Quantile(timeline.At(rate, cells), 0.5)
		if now < before/2 {
			finding.Say("fell", rules.Values{"before": rules.Number(before), "now": rules.Number(now)})
			finding.Evidence = append(finding.Evidence,
				input.Figure("proposals committed, median", ProposalsCommitted, now, "1/s", cells))
		}
	}

	return finding, true
}
