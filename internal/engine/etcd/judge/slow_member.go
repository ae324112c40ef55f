package judge

import (
	"math"
	"strconv"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A member is slow if its syncs take three times as long as the fastest member's. Below 2 ms the
// difference between two kinds of flash is not noticeable.
const (
	slowMemberFactor = 3.0
	slowMemberFloorS = 0.002
)

func slowMember() rules.Rule {
	rule := rules.Rule{ID: "etcd/slow-member", Title: "One member's disk is slower than the others",
		Kind: rules.Cause, Sums: true,
		When:    "plimsoll:etcd_wal_fsync:seconds > on() group_left() (3 * min(plimsoll:etcd_wal_fsync:seconds)) and plimsoll:etcd_wal_fsync:seconds > 0.002",
		Needs:   []*rules.Signal{WALFsyncs},
		NoAlert: "it compares members over the whole recording",
		Cause:   "The fastest majority commits a write: a slow minority costs nothing until a fast member fails, but a slow leader or a slow majority delays every write.",
		Words: rules.Words{
			"syncs":       "Its WAL's median fdatasync takes {{.took}}, compared with {{.best}} on the fastest member.",
			"no majority": "Of {{.members}} members {{.slow}} are slow, so no majority is fast: every write waits for one of them.",
			"unread":      "{{.slow}} of the {{.read}} members read {{.are}} slow, and {{.unread}} of the cluster's {{.members}} {{.is}} not in these sources: whether a majority is fast is unknown.",
			"tail":        "1 % of its WAL's fdatasyncs take over {{.p99}}, compared with {{.best}} on the fastest member; the medians are similar.",
			"by name":     "Compare the two volumes directly: type, provisioned IOPS, credits, and what the provider reports about each.",
			"led":         "It was the leader {{.led}} of the time: a leader syncs its own WAL before it starts the next batch, so every write waited for it.",
			"minority":    "Of the {{.read}} members read {{.fast}} are fast, a majority: writes do not wait for this one unless it leads or a fast one fails.",
		},
		Advice: map[string]rules.Advice{"move": {Summary: "Move the member to a volume as fast as the others; until then move leadership off it (etcdctl move-leader)",
			Expect:   "the next failure of a fast member costs nothing",
			TradeOff: "the volume's price",
			Do:       []*rules.Remedy{moveLeader}}}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		all := memberSyncs(c)
		// The size of the cluster counts, not the members read: a majority may be elsewhere.
		q := quorum{members: clusterSize(c, len(all)), read: len(all)}
		for _, m := range all {
			if m.slow() {
				q.slow++
			}
		}

		// A single member cannot be compared with others, so it is never slow.
		if len(all) < 2 || q.slow == 0 {
			return nil
		}

		var out []rules.Finding
		for _, m := range all {
			if m.slow() {
				out = append(out, slowMemberFinding(rule, c, m, q))
			}
		}

		return out
	}

	return rule
}

// A memberSync holds how long one member's syncs take, and the fastest member's for comparison.
type memberSync struct {
	track        timeline.Track
	median, best float64 // of the means per interval, seconds
	p99, bestP99 float64 // from the histogram, over the whole time, seconds
	onlyTail     bool    // the median is similar to the fastest member's
}

// memberSyncs compares the members by their means and by their histograms, because a mean hides a
// member that is slow only occasionally.
func memberSyncs(c *rules.Case) []memberSync {
	var out []memberSync
	best, bestP99 := math.Inf(1), math.Inf(1)
	for _, t := range c.Signal(WALFsyncs) {
		inst := t.Labels.Get("instance")
		m := memberSync{track: t, median: timeline.Quantile(c.For(WALFsync, "instance", inst), 0.5),
			p99: c.P99(WALFsyncClasses, inst)}

		// Without a sync there is no duration to compare.
		if !(timeline.Sum(t.Values) > 0) || math.IsNaN(m.median) && math.IsNaN(m.p99) {
			continue
		}

		if m.median < best {
			best = m.median
		}

		if m.p99 < bestP99 {
			bestP99 = m.p99
		}

		out = append(out, m)
	}

	// The fastest member is known only once all have been read.
	for i := range out {
		out[i].best, out[i].bestP99 = best, bestP99
		out[i].onlyTail = !isSlow(out[i].median, best)
	}

	return out
}

// slow reports whether a member is slower than the fastest: at the median, or at the p99 if that
// also misses etcd's criterion.
func (m memberSync) slow() bool {
	return isSlow(m.median, m.best) || m.p99 > slowMemberFactor*m.bestP99 && m.p99 > fsyncCriterionS
}

// A quorum counts the cluster's members, those read and those that are slow.
type quorum struct{ members, read, slow int }

func isSlow(fsync, best float64) bool {
	return fsync > slowMemberFactor*best && fsync > slowMemberFloorS
}

func slowMemberFinding(r rules.Rule, c *rules.Case, m memberSync, q quorum) rules.Finding {
	inst := m.track.Labels.Get("instance")
	f := r.Finding(rules.InstanceOf("etcd", inst))
	led := timeline.Mean(c.For(IsLeader, "instance", inst))

	if m.onlyTail {
		f.Say("tail", rules.Values{"p99": rules.Seconds(m.p99), "best": rules.Seconds(m.bestP99)})
	} else {
		f.Say("syncs", rules.Values{"took": rules.Seconds(m.median), "best": rules.Seconds(m.best)})
	}

	q.judge(&f, m, led)
	f.Say("by name", nil)

	whole := timeline.Known(m.track.Values)
	f.Evidence = []rules.Evidence{
		c.Figure("median fdatasync of this member", WALFsync, m.median, "seconds", whole),
		c.Figure("median fdatasync of the fastest member", WALFsync, m.best, "seconds", whole),
	}

	if !math.IsNaN(m.p99) {
		f.Evidence = append(f.Evidence,
			c.Figure("p99 of this member's fdatasyncs", WALFsyncClasses, m.p99, "seconds", whole),
			c.Figure("p99 of the fastest member's fdatasyncs", WALFsyncClasses, m.bestP99, "seconds", whole))
	}

	if !math.IsNaN(led) {
		f.Evidence = append(f.Evidence, c.Figure("share of the time it led", IsLeader, led, "ratio", whole))
	}

	f.Advise("move", nil)
	return f
}

// judge sets the severity by whether writes wait for the member. Members that were not read may be
// fast.
func (q quorum) judge(f *rules.Finding, m memberSync, led float64) {
	whole := func(n int) rules.Value { return rules.Called(strconv.Itoa(n)) }
	majority, unread := q.members/2+1, q.members-q.read
	quick := q.read - q.slow
	v := rules.Values{"members": whole(q.members), "slow": whole(q.slow), "fast": whole(quick),
		"read": whole(q.read), "unread": whole(unread), "are": "are", "is": "are"}

	if q.slow == 1 {
		v["are"] = "is"
	}

	if unread == 1 {
		v["is"] = "is"
	}

	f.Severity = rules.Warning
	switch {
	// Even if all members that were not read are fast, they are too few for a majority.
	case quick+unread < majority:
		f.Say("no majority", v)
		if f.Weight = 1; !m.onlyTail {
			f.Severity = rules.Critical
		}
	case led >= 0.5:
		f.Weight = led
		f.Say("led", rules.Values{"led": rules.Part(led)})
		if !m.onlyTail {
			f.Severity = rules.Critical
		}
	case quick < majority:
		f.Say("unread", v)
	default:
		f.Say("minority", v)
	}
}
