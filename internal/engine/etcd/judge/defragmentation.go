package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// briefS: a shorter defragmentation ends before a leader misses a heartbeat and affects no
	// client.
	briefS = 1.0
	// minPending is the number of pending proposals above which a member delays clients.
	minPending = 5.0
)

// defragmenting returns the cells in which a member defragments. The gauge misses runs between two
// samples, and the histogram is credited only at the end, so both are needed.
func defragmenting(sig *rules.Signals, t rules.Time, instance string) timeline.Mask {
	cells := timeline.Where(sig.For(Defragmenting, "instance", instance), func(x float64) bool { return x > 0 })
	ended := timeline.Where(t.Credited(sig.For(DefragmentTime, "instance", instance)),
		func(x float64) bool { return x > 0.01 })
	return make(timeline.Mask, t.Grid.N).Or(cells).Or(ended)
}

func defragmentation() rules.Rule {
	rule := rules.Rule{ID: "etcd/defragmentation", Title: "A member was defragmenting", Kind: rules.Cause,
		When:    "plimsoll:etcd_defragmenting:bool > 0 or plimsoll:etcd_defragment_time:ratio > 0",
		Needs:   []*rules.Signal{},
		AnyOf:   []*rules.Signal{Defragmenting, DefragmentTime},
		Refutes: rules.DiskResources,
		Cause:   "A defragmentation copies the member's whole database into a new file and holds the backend's lock throughout (backend.go, defrag): the member applies nothing and answers no reads. If it is the leader, every write waits. etcd does not start it by itself: a person or a job did.",
		Words: rules.Words{
			"not the disk": "No volume fixes this:",
			"took":         "the member was defragmenting for {{.for}}{{with .times}} ({{.}}){{end}} and answered nothing during that time.",
			"pending":      "Up to {{.pending}} proposals waited.",
			"leads":        "It was the leader, so every write waited.",
			"quick":        "Nothing waited for it noticeably.",
		},
		Advice: map[string]rules.Advice{
			"when": {Summary: "Defragment one member at a time, at a time with few writes, the leader last and after move-leader",
				Expect:   "writes do not wait for any member",
				TradeOff: "none",
				Do:       []*rules.Remedy{moveLeader}},
			"less": {Summary: "Do not defragment on a schedule, only if much of the file is free (compare etcd_mvcc_db_total_size_in_use_in_bytes with etcd_mvcc_db_total_size_in_bytes); etcd reuses freed pages",
				Expect:    "fewer pauses",
				TradeOff:  "the file keeps its size",
				NoCommand: "the job that defragments has to change"},
			"split": {Summary: "From 3.6 on, --feature-gates=StopGRPCServiceOnDefrag=true makes clients fail over to another member",
				Expect:    "clients with several endpoints do not wait",
				TradeOff:  "clients with one endpoint get errors",
				NoCommand: "each member has to restart"},
		}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, inst := range c.Instances(Defragmenting, DefragmentTime) {
			if cells := defragmenting(&c.Signals, c.Time, inst); cells.Count() > 0 {
				out = append(out, defragmentFinding(rule, c, inst, cells))
			}
		}
		return out
	}

	return rule
}

func defragmentFinding(r rules.Rule, input *rules.Case, inst string, cells timeline.Mask) rules.Finding {
	finding := r.Finding(rules.InstanceOf("etcd", inst))
	finding.Windows = input.Windows(cells)
	finding.PeriodS = input.Period(cells)
	finding.Foremost = true
	took := input.Seconds(cells)
	pending := timeline.Max(timeline.At(input.For(ProposalsPending, "instance", inst), cells))
	led := timeline.Mean(timeline.At(input.For(IsLeader, "instance", inst), cells)) > 0

	finding.Severity = rules.Info
	if input.Stall.Any() {
		finding.Weight = rules.Share(cells.Widen(0, 1), input.Stall.Cells)
	}

	// The severity depends on whether writes waited: on the leader they do, on a follower the
	// pending proposals show it.
	switch {
	case pending >= minPending && took >= 5*briefS:
		finding.Severity = rules.Critical
	case took > briefS && (led || pending >= minPending || finding.Weight >= rules.MinAttributable):
		finding.Severity = rules.Warning
	}

	if !input.Stall.Any() && finding.Severity != rules.Info {
		finding.Weight = 1
	}

	times := len(cells.Episodes())
	finding.Say("not the disk", nil)
	finding.Say("took", rules.Values{"for": rules.Seconds(took),
		"times": rules.If(times > 1, rules.Things(times, "time"))})
	if pending >= 1 {
		finding.Say("pending", rules.Values{"pending": rules.Events(pending)})
		finding.Evidence = append(finding.Evidence,
			input.Figure("proposals pending during that time, maximum", ProposalsPending, pending, "", cells))
	}

	if led {
		finding.Say("leads", nil)
	} else if finding.Severity == rules.Info {
		finding.Say("quick", nil)
	}

	finding.Evidence = append([]rules.Evidence{input.Figure("time spent defragmenting", Defragmenting, took,
		"seconds", cells)}, finding.Evidence...)
	finding.Advise("when", nil)
	finding.Advise("less", nil)
	finding.Advise("split", nil)

	return finding
}
