package judge

import (
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A p99 hides what kills a leader: one sync in a thousand that takes longer than a heartbeat's
// interval (100 ms by default; the histogram's edge above it is 128 ms), or one that takes as long
// as an election's timeout (1 s; 1.024 s).
const (
	tailLate      = 10.0 // syncs over 128 ms: fewer are an incident of the host, once
	tailLateShare = 1e-4 // of all syncs
	tailLost      = 1.0  // syncs over 1.024 s: one is enough to lose the leader
	tailRecurs    = 2.0  // of them: more than an incident of the host, once
	lateEdgeS     = 0.128
	lostEdgeS     = 1.024
)

// A tail counts the syncs of one member.
type tail struct {
	instance  string
	all, late float64 // late: over lateEdgeS
	lost      float64 // over lostEdgeS
	// above is how many took longer than each edge of edges.
	edges, above []float64
	seconds      float64 // that the late ones took at least, in sum
}

// tailOf counts a member's syncs by the histogram's classes.
func tailOf(c *rules.Case, instance string) tail {
	t := tail{instance: instance}
	step := c.Grid.StepSeconds()
	t.all = math.Round(timeline.Sum(c.For(WALFsyncs, "instance", instance)) * step)

	for _, x := range c.Signal(WALFsyncClasses) {
		edge, err := strconv.ParseFloat(x.Labels.Get(model.BucketLabel), 64)
		if err != nil || math.IsInf(edge, 0) || x.Labels.Get("instance") != instance || edge < lateEdgeS-1e-9 {
			continue
		}
		t.edges = append(t.edges, edge)
		t.above = append(t.above, max(0, math.Round(t.all-timeline.Sum(x.Values)*step)))
	}

	order := make([]int, len(t.edges))
	for i := range order {
		order[i] = i
	}

	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, t.edges[a]-t.edges[b])) })
	edges, above := slices.Clone(t.edges), slices.Clone(t.above)
	for i, from := range order {
		t.edges[i], t.above[i] = edges[from], above[from]
	}

	for i, n := range t.above {
		below := 0.0
		if i > 0 {
			below = t.edges[i-1]
		}
		t.seconds += n * (t.edges[i] - below)
		if math.Abs(t.edges[i]-lateEdgeS) < 1e-9 {
			t.late = n
		}
		if math.Abs(t.edges[i]-lostEdgeS) < 1e-9 {
			t.lost = n
		}
	}

	return t
}

// over is how many syncs took longer than an edge; 0 if the histogram has neither it nor a lower one.
func (t tail) over(seconds float64) (n float64) {
	for i, e := range t.edges {
		if e <= seconds+1e-9 {
			n = t.above[i]
		}
	}
	return n
}

// slowest is the highest edge that a sync exceeded.
func (t tail) slowest() float64 {
	for i := len(t.edges) - 1; i >= 0; i-- {
		if t.above[i] > 0 {
			return t.edges[i]
		}
	}
	return 0
}

func (t tail) kills() bool {
	return t.late >= tailLate && t.late >= tailLateShare*t.all || t.lost >= tailLost
}

// counted is a number of things.
func counted(n float64) rules.Value {
	if n < 1000 {
		return rules.Called(strconv.FormatFloat(n, 'f', 0, 64))
	}
	return rules.Number(n)
}

func walFsyncTail() rules.Rule {
	r := rules.Rule{ID: "etcd/wal-fsync-tail", Title: "A few syncs of the WAL take longer than a heartbeat",
		Kind: rules.Cause, Sums: true,
		When:  "plimsoll:etcd_wal_late_fsyncs:rate > 0",
		Needs: []*rules.Signal{WALLateFsyncs, WALFsyncClasses},
		Cause: "A leader that is in fdatasync sends no heartbeats. One sync in a thousand is in no p99, but a cluster makes a hundred a second: a sync of more than a heartbeat's interval every ten seconds, and one of an election's timeout costs the leader.",
		Words: rules.Words{
			"late":        "{{.late}} of {{.all}} syncs took over 128 ms ({{.share}}), a heartbeat's interval and more{{with .lost}}; {{.}} over 1.02 s, an election's timeout{{end}}. The slowest took over {{.slowest}}.",
			"p99":         "The p99 over all of them is {{.p99}}: it hides them.",
			"p99 at most": "The p99 over all of them is at most {{.p99}} (the lowest class here): it hides them.",
			"bulk":        "They are not the main trouble: the median of all syncs is {{.median}}.",
			"leader":      "The leader changed {{.changes}} times{{with .since}} since the process began{{end}}.",
			"leader once": "The leader changed once meanwhile.",
			"kept":        "The leader did not change meanwhile.",
			"follows":     "This member never led: its late syncs cost no heartbeats, and a write waits for them only if the members that are quicker are no majority.",
			"peers":       "Of the other members' syncs, at most {{.most}} took over 128 ms ({{.which}}).",
			"process":     "These are all syncs since the process began: when the slow ones were is not known.",
		},
		Advice: map[string]rules.Advice{
			"when": {Summary: "Find out when they are: record the metrics every second for an hour, beside the device's",
				Expect:    "something that recurs: a compaction, a snapshot, a backup, credits that end",
				TradeOff:  "none",
				NoCommand: "what recurs has to be found first"},
			"apart": {Summary: "Give etcd's WAL (--wal-dir) a volume of its own, without other writers",
				Expect: "nothing else queues before its syncs", TradeOff: "one more volume a member",
				Do: []*rules.Remedy{rules.LogApart}},
			"move": {Summary: "If only this member has them, move it to a volume like the others'; move leadership off it meanwhile (etcdctl move-leader)",
				Expect:   "its syncs cost a minority nothing",
				TradeOff: "the volume's price",
				Do:       []*rules.Remedy{moveLeader}},
			"timeout": {Summary: "Until then let elections wait longer: --heartbeat-interval=300 --election-timeout=3000 on all members",
				Expect:    "a sync of a second costs no leader",
				TradeOff:  "a leader that dies is noticed later",
				NoCommand: "all members take it together, where each is configured, and each restarts for it"},
		}}

	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		var all []tail
		for _, m := range c.Signal(WALFsyncs) {
			all = append(all, tailOf(c, m.Labels.Get("instance")))
		}

		most := 0.0
		for _, t := range all {
			most = max(most, t.seconds)
		}

		var out []rules.Finding
		for _, t := range all {
			if t.kills() {
				out = append(out, tailFinding(r, c, t, all, most, held))
			}
		}

		return out
	}

	return r
}

// A role is what a member was while it was watched: whose late sync costs a leader depends on it.
type role struct {
	led          float64 // share of the time; NaN if not reported
	changes      float64 // of the leader
	counted      bool    // changes are known
	sinceStart   bool
	seenInAnyWay float64 // what the counter shows, the first leader included
}

func roleOf(c *rules.Case, instance string) role {
	x := role{led: timeline.Mean(c.For(IsLeader, "instance", instance)), sinceStart: c.SinceStart}
	x.changes, x.counted = mostElections(c)
	if c.SinceStart {
		// Whether a member leads now says nothing of the time since it began.
		x.led = math.NaN()
		x.seenInAnyWay = timeline.Max(c.For(LeaderChangesSeen, "instance", instance))
	}
	return x
}

// severity is critical only if a leader that has such syncs was lost, or if neither is reported and
// they recur.
func (x role) severity(t tail) rules.Severity {
	follows, lost := x.led == 0, t.lost >= tailLost
	recurs := t.lost >= tailRecurs || t.late >= tailLate && t.late >= tailLateShare*t.all
	switch {
	case !follows && x.counted && x.changes > 0 && (lost || recurs),
		!x.counted && !follows && t.lost >= tailRecurs:
		return rules.Critical
	case !recurs && x.counted && x.changes == 0:
		return rules.Info
	}
	return rules.Warning
}

func (x role) say(f *rules.Finding) {
	switch {
	case x.sinceStart && x.changes > 0:
		f.Say("leader", rules.Values{"changes": counted(x.seenInAnyWay), "since": "yes"})
	case x.changes == 1:
		f.Say("leader once", nil)
	case x.changes > 0:
		f.Say("leader", rules.Values{"changes": counted(x.changes), "since": ""})
	case x.counted:
		f.Say("kept", nil)
	}
	if x.led == 0 {
		f.Say("follows", nil)
	}
}

func tailFinding(r rules.Rule, c *rules.Case, t tail, all []tail, most float64,
	held []timeline.Track) rules.Finding {
	f := r.Finding(subjectOf(t.instance))
	f.Foremost = true

	cells := make(timeline.Mask, c.Grid.N)
	for _, h := range held {
		if h.Labels.Get("instance") == t.instance {
			cells = timeline.Known(h.Values)
		}
	}

	f.Weight = t.seconds / most
	if c.Stall.Any() {
		f.Weight = rules.Share(cells.Widen(1, 1), c.Stall.Cells)
	}

	role := roleOf(c, t.instance)
	f.Severity = role.severity(t)
	v := rules.Values{"late": counted(t.late), "all": counted(t.all), "share": rules.Part(t.late / t.all),
		"lost": "", "slowest": rules.Seconds(t.slowest())}

	if t.lost > 0 {
		v["lost"] = counted(t.lost)
	}

	f.Say("late", v)
	totals := c.TotalsOf(WALFsyncClasses, WALFsyncs, t.instance)
	p99 := totals.Quantile(0.99)
	from, to := totals.Within(0.99)

	bulk := criteria[0].Judge(totals) == rules.MissesBulk
	if bulk {
		// Most syncs are slow: these few are not what to begin with.
		f.Foremost, f.Weight = false, f.Weight/2
		f.Say("bulk", rules.Values{"median": rules.Seconds(totals.Quantile(0.5))})
	}

	switch {
	case p99 < lateEdgeS && from == 0:
		f.Say("p99 at most", rules.Values{"p99": rules.Seconds(to)})
	case p99 < lateEdgeS && !bulk:
		f.Say("p99", rules.Values{"p99": rules.Seconds(p99)})
	}

	role.say(&f)
	peer := tail{late: -1}
	for _, o := range all {
		if o.instance != t.instance && o.late > peer.late {
			peer = o
		}
	}

	if peer.late >= 0 {
		f.Say("peers", rules.Values{"most": counted(peer.late), "which": rules.Called(peer.instance)})
	}

	f.Evidence = append(f.Evidence, c.Figure("syncs", WALFsyncs, t.all, "", cells))
	for i, n := range t.above {
		if n > 0 {
			f.Evidence = append(f.Evidence,
				c.Figure("syncs that took over "+string(rules.Seconds(t.edges[i])), WALFsyncClasses, n, "", cells))
		}
	}

	f.Evidence = append(f.Evidence, c.Figure("p99 over all of them", WALFsyncClasses, p99, "seconds", cells))
	if c.SinceStart {
		f.Say("process", nil)
		f.Advise("when", nil)
	} else {
		f.Windows = c.Windows(cells)
	}

	f.Advise("apart", nil)
	if peer.late >= 0 && peer.late*10 < t.late {
		f.Advise("move", nil)
	}

	f.Advise("timeout", nil)
	return f
}
