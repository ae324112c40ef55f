package judge

import (
	"iter"
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A p99 hides what costs a leader: one sync in a thousand that takes longer than the heartbeat
// interval (100 ms by default; the bucket boundary above it is 128 ms), or a single one as long as
// the election timeout (1 s by default; boundary 1.024 s).
const (
	tailLate      = 10.0 // syncs over 128 ms: fewer may be a single incident on the host
	tailLateShare = 1e-4 // of all syncs
	tailLost      = 1.0  // syncs over 1.024 s: one is enough to lose the leader
	tailRecurs    = 2.0  // syncs over 1.024 s: more than a single incident on the host
	lateEdgeS     = 0.128
	lostEdgeS     = 1.024
)

// A tail counts the late syncs of one member by the histogram's buckets.
type tail struct {
	rules.Totals
	instance   string
	late, lost float64 // over lateEdgeS and lostEdgeS
	seconds    float64 // lower bound of the total time of late syncs
	slowest    float64 // the highest edge that a sync exceeded
}

func tailOf(c *rules.Case, instance string) tail {
	counts := tail{Totals: c.TotalsOf(WALFsyncClasses, WALFsyncs, instance), instance: instance}
	// Edges are parsed from text, so they are compared with a tolerance.
	at := func(edge, of float64) bool { return math.Abs(edge-of) < 1e-9 }
	below := 0.0
	for edge, n := range counts.above() {
		// A sync above an edge took at least that long, so the steps between the edges add up to a lower
		// bound.
		counts.seconds += n * (edge - below)
		below = edge

		if at(edge, lateEdgeS) {
			counts.late = n
		}
		if at(edge, lostEdgeS) {
			counts.lost = n
		}
		if n > 0 {
			counts.slowest = edge
		}
	}
	return counts
}

// above yields the edges from lateEdgeS on, and how many syncs took longer.
func (t tail) above() iter.Seq2[float64, float64] {
	return func(yield func(edge, n float64) bool) {
		for i, edge := range t.Edges {
			if edge >= lateEdgeS-1e-9 && !yield(edge, t.All-t.UpTo[i]) {
				return
			}
		}
	}
}

// endangersLeader reports whether the late syncs can cost a leader: recurring ones or a very long
// one.
func (t tail) endangersLeader() bool {
	return t.late >= tailLate && t.late >= tailLateShare*t.All || t.lost >= tailLost
}

func walFsyncTail() rules.Rule {
	rule := rules.Rule{ID: "etcd/wal-fsync-tail", Title: "A few WAL syncs take longer than a heartbeat interval",
		Kind: rules.Cause, Sums: true,
		When:  "plimsoll:etcd_wal_late_fsyncs:rate > 0",
		Needs: []*rules.Signal{WALLateFsyncs, WALFsyncClasses},
		Cause: "A leader sends no heartbeats while it is in fdatasync. One sync in a thousand does not show in a p99, but at a hundred syncs per second it means one sync longer than the heartbeat interval every ten seconds. A leader whose sync takes as long as the election timeout is replaced.",
		Words: rules.Words{
			"late":        "{{.late}} of {{.all}} syncs took over 128 ms ({{.share}}), longer than the heartbeat interval{{with .lost}}; {{.}} over 1.02 s, the election timeout{{end}}. The slowest took over {{.slowest}}.",
			"p99":         "The p99 of all syncs, {{.p99}}, hides them.",
			"p99 at most": "The p99 of all syncs, at most {{.p99}} (the lowest bucket here), hides them.",
			"bulk":        "They are not the main problem: the median of all syncs is {{.median}}.",
			"leader":      "The leader changed {{.changes}} times{{with .since}} since the process started{{end}}.",
			"leader once": "Meanwhile the leader changed once.",
			"kept":        "Meanwhile the leader did not change.",
			"follows":     "This member never led: its late syncs delay no heartbeats, and writes wait for them only if the faster members are not a majority.",
			"peers":       "On any other member at most {{.most}} syncs took over 128 ms ({{.which}}).",
			"process":     "These are all syncs since the process started: when the slow ones happened is unknown.",
		},
		Advice: map[string]rules.Advice{
			"when": {Summary: "Find out when they happen: record the metrics every second for an hour, together with the device's",
				Expect:    "something that recurs: a compaction, a snapshot, a backup, exhausted credits",
				TradeOff:  "none",
				NoCommand: "what recurs has to be found first"},
			"apart": {Summary: "Put etcd's WAL (--wal-dir) on a separate volume without other writers",
				Expect: "nothing else queues ahead of its syncs", TradeOff: "one more volume per member",
				Do: []*rules.Remedy{rules.LogApart}},
			"move": {Summary: "If only this member has them, move it to a volume as fast as the others; until then move leadership off it (etcdctl move-leader)",
				Expect:   "late syncs of a minority cost nothing",
				TradeOff: "the volume's price",
				Do:       []*rules.Remedy{moveLeader}},
			"timeout": {Summary: "Until then lengthen the election timeout: --heartbeat-interval=300 --election-timeout=3000 on all members",
				Expect:    "a sync of a second does not cost the leader",
				TradeOff:  "a dead leader is noticed later",
				NoCommand: "it has to be configured on all members together, and each has to restart"},
		}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		var all []tail
		for _, m := range c.Signal(WALFsyncs) {
			all = append(all, tailOf(c, m.Labels.Get("instance")))
		}

		// Without stalled time, a member weighs as much as its late syncs compared with the worst
		// member's.
		most := 0.0
		for _, t := range all {
			most = max(most, t.seconds)
		}

		var out []rules.Finding
		for _, t := range all {
			if t.endangersLeader() {
				out = append(out, tailFinding(rule, c, t, all, most, held))
			}
		}

		return out
	}

	return rule
}

// A role is a member's part in the cluster during the recording. Only a leader's late syncs delay
// heartbeats.
type role struct {
	led        float64 // share of the time; NaN if not reported
	changes    float64 // of the leader
	counted    bool    // changes are known
	sinceStart bool
	counter    float64 // value of the counter, including the first leader
}

func roleOf(c *rules.Case, instance string) role {
	x := role{led: timeline.Mean(c.For(IsLeader, "instance", instance)), sinceStart: c.SinceStart}
	x.changes, x.counted = mostElections(c)
	if c.SinceStart {
		// Whether a member leads now says nothing about the time since it started.
		x.led = math.NaN()
		x.counter = timeline.Max(c.For(LeaderChangesSeen, "instance", instance))
	}
	return x
}

// severity returns critical only if the leader changed and this member may have led. If no source counts
// changes, long syncs may have caused none: one in a million recurs every few hours on a busy member.
func (x role) severity(t tail) rules.Severity {
	follows, lost := x.led == 0, t.lost >= tailLost
	recurs := t.lost >= tailRecurs || t.late >= tailLate && t.late >= tailLateShare*t.All
	switch {
	case !follows && x.counted && x.changes > 0 && (lost || recurs):
		return rules.Critical
	// A single long sync that cost no leader may be one event on the host.
	case !recurs && x.counted && x.changes == 0:
		return rules.Info
	}
	return rules.Warning
}

func (x role) describe(f *rules.Finding) {
	switch {
	case x.sinceStart && x.changes > 0:
		f.Say("leader", rules.Values{"changes": rules.Events(x.counter), "since": "yes"})
	case x.changes == 1:
		f.Say("leader once", nil)
	case x.changes > 0:
		f.Say("leader", rules.Values{"changes": rules.Events(x.changes), "since": ""})
	case x.counted:
		f.Say("kept", nil)
	}
	if x.led == 0 {
		f.Say("follows", nil)
	}
}

func tailFinding(r rules.Rule, input *rules.Case, syncs tail, all []tail, most float64,
	held []timeline.Track) rules.Finding {
	finding := r.Finding(rules.InstanceOf("etcd", syncs.instance))
	finding.Foremost = true

	cells := make(timeline.Mask, input.Grid.N)
	for _, h := range held {
		if h.Labels.Get("instance") == syncs.instance {
			cells = timeline.Known(h.Values)
		}
	}

	finding.Weight = syncs.seconds / most
	if input.Stall.Any() {
		finding.Weight = rules.Share(cells.Widen(1, 1), input.Stall.Cells)
	}

	role := roleOf(input, syncs.instance)
	finding.Severity = role.severity(syncs)
	finding.Say("late", rules.Values{"late": rules.Events(syncs.late), "all": rules.Events(syncs.All),
		"share": rules.Part(syncs.late / syncs.All),
		"lost":  rules.If(syncs.lost > 0, rules.Events(syncs.lost)), "slowest": rules.Seconds(syncs.slowest)})
	p99 := syncs.Quantile(0.99)
	from, to := syncs.Within(0.99)

	bulk := criteria[0].Judge(syncs.Totals) == rules.MissesBulk
	if bulk {
		// Most syncs are slow, so these few are not the place to start.
		finding.Foremost, finding.Weight = false, finding.Weight/2
		finding.Say("bulk", rules.Values{"median": rules.Seconds(syncs.Quantile(0.5))})
	}

	switch {
	case p99 < lateEdgeS && from == 0:
		finding.Say("p99 at most", rules.Values{"p99": rules.Seconds(to)})
	case p99 < lateEdgeS && !bulk:
		finding.Say("p99", rules.Values{"p99": rules.Seconds(p99)})
	}

	role.describe(&finding)

	// -1 means that there is no other member; 0 is one without late syncs.
	peer := tail{late: -1}
	for _, o := range all {
		if o.instance != syncs.instance && o.late > peer.late {
			peer = o
		}
	}

	if peer.late >= 0 {
		finding.Say("peers", rules.Values{"most": rules.Events(peer.late), "which": rules.Called(peer.instance)})
	}

	finding.Evidence = append(finding.Evidence, input.Figure("syncs", WALFsyncs, syncs.All, "", cells))
	for edge, n := range syncs.above() {
		if n > 0 {
			finding.Evidence = append(finding.Evidence,
				input.Figure("syncs that took over "+string(rules.Seconds(edge)), WALFsyncClasses, n, "", cells))
		}
	}

	finding.Evidence = append(finding.Evidence, input.Figure("p99 of all syncs", WALFsyncClasses, p99, "seconds",
		cells))
	if input.SinceStart {
		finding.Say("process", nil)
		finding.Advise("when", nil)
	} else {
		finding.Windows = input.Windows(cells)
	}

	finding.Advise("apart", nil)

	// An order of magnitude fewer on every other member points to this member's volume.
	if peer.late >= 0 && peer.late*10 < syncs.late {
		finding.Advise("move", nil)
	}

	finding.Advise("timeout", nil)
	return finding
}
