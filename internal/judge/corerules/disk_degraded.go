package corerules

import (
	"slices"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func diskDegraded() rules.Rule {
	rule := rules.Rule{
		ID:      "disk/degraded",
		Title:   "The volume itself became slow",
		Kind:    rules.Cause,
		Traced:  atDevice,
		Refutes: []rules.Resource{rules.VolumeIOPS, rules.VolumeThroughput},
		Needs: []*rules.Signal{
			rules.DiskOps,
			rules.DiskMoved,
		},
		AnyOf:   []*rules.Signal{rules.DiskReadAwait, rules.DiskWriteAwait},
		NoAlert: "it compares a device with itself at other times, and with its peers",
		Cause:   "The volume takes longer for each request, although it gets no more requests than it serves quickly at other times, and of the same size. Network volumes have such episodes, mostly of minutes: a replica fails over, a path is congested, a neighbour is busy. Nothing that the database or its owner does causes it, and nothing bought for the volume prevents it.",
		Words: rules.Words{
			"slow":       "{{.kind}} on {{.device}} took {{.slow}} instead of the {{.usual}} usual at that rate, for {{.for}}{{with .share}}, in {{.}} of the stalled time{{end}}.",
			"less":       "It completed {{.ops}} instead of the usual {{.usualOps}} while its queue grew: there were enough requests, but the volume was slow.",
			"same":       "It served {{.ops}}, usually {{.usualOps}}: no more than it serves quickly at other times.",
			"flat":       "Its rate hardly varied: it may have been capped at {{.ops}} during that time.",
			"recurring":  "It recurs every {{.period}}.",
			"no credits": "{{.volume}} has no burst credits, so exhausted credits are not the cause.",
			"peers":      "{{.peers}} served requests at their usual speed.",
			"alone":      "No other device on this host was busy enough to compare with.",
		},
		Advice: map[string]rules.Advice{
			"case": {Summary: "Attach the evidence below to a support case, with the volume's id",
				Expect:   "the provider examines that volume for that time; a volume that keeps doing this is replaced",
				TradeOff: "none", NoCommand: "support cases are opened in the provider's console"},
			"move": {Summary: "If it continues, fail over to a member on another volume, or create a new volume from a snapshot and swap them",
				Expect:    "another volume uses other disks and paths",
				TradeOff:  "a volume created from a snapshot is slow on the first access to each block",
				NoCommand: "failover follows your database's own procedure"},
			"survive": {Summary: "Spread the data over members whose volumes do not fail together, and let requests time out on the slow one",
				Expect:    "an episode affects one member, not all of them",
				TradeOff:  "more volumes",
				NoCommand: "placing the members is part of the layout: see plimsoll plan"},
			"do not buy": {Summary: "Do not buy IOPS or throughput for this",
				Expect:   "no change: at other times the volume serves more than this quickly",
				TradeOff: "none; it saves money", NoCommand: nothingToDo},
		}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		all := c.Slowdowns()
		var out []rules.Finding
		for _, s := range all {
			if s.InstanceLimited || firstTouch(c, s.Device) != nil || len(s.Alike) > 0 && len(s.Quick) == 0 ||
				burstEnded(c, s) != nil {
				continue // the whole host is slow: disk/instance-burst-exhausted
			}
			// A stacked device is slow either by itself or because one of its legs is; disk/layer-slow
			// reports both.
			if rules.Stacked(s.Device) &&
				(slices.ContainsFunc(all, func(o *rules.Slowdown) bool { return !rules.Stacked(o.Device) }) ||
					slices.ContainsFunc(layerLosses(c), func(l *layerLoss) bool { return l.Device == s.Device })) {
				continue
			}
			out = append(out, degraded(rule, c, s))
		}

		return out
	}

	return rule
}

func degraded(r rules.Rule, input *rules.Case, slowdown *rules.Slowdown) rules.Finding {
	finding := r.During(input, slowdown.Device,
		rules.Share(slowdown.Cells.Widen(1, 1), input.Stall.Cells), slowdown.Cells.Close(3))
	input.Unsure(&finding, slowdown.Slow)

	// Without a database that waits, and without another device that stayed quick, the only evidence comes
	// from the device itself, whose latencies may naturally vary that much.
	if finding.Foremost = input.Stall.IsDatabase || len(slowdown.Quick) > 0; !finding.Foremost {
		finding.Severity = rules.LessThanCritical(finding.Severity)
	}

	values := rules.Values{"kind": rules.UpperFirst(rules.Called(slowdown.Kind)), "device": rules.Called(slowdown.Device), "slow": rules.Seconds(slowdown.SlowS),
		"usual": rules.Seconds(slowdown.UsualS), "for": rules.Seconds(input.Seconds(slowdown.Cells)), "share": "",
		"ops": rules.Of(slowdown.Ops, "IOPS"), "usualOps": rules.Of(slowdown.UsualOps, "IOPS"),
		"peers": rules.Joined(slowdown.Quick)}
	if input.Change == nil {
		values["share"] = rules.Part(finding.Weight)
	}

	finding.Say("slow", values)
	if slowdown.Less {
		finding.Say("less", values)
	} else {
		finding.Say("same", values)
	}

	if slowdown.Less && slowdown.Flat {
		finding.Say("flat", values)
	}

	// A volume with burst credits can slow down periodically; one without cannot.
	if finding.PeriodS = input.Period(slowdown.Cells.Close(input.Cells(time.Minute))); finding.PeriodS > 0 {
		values["period"], values["volume"] = rules.Seconds(finding.PeriodS), rules.Called(input.Provisioned[slowdown.Device].Text)
		finding.Say("recurring", values)
		if input.Provisioned[slowdown.Device].Even {
			finding.Say("no credits", values)
		}
	}

	if len(slowdown.Quick) > 0 {
		finding.Say("peers", values)
	} else {
		finding.Say("alone", nil)
	}

	finding.Evidence = slowFigures(input, slowdown)
	finding.SupportCase = supportCase(slowdown, input)
	finding.Advise("case", nil)
	finding.Advise("do not buy", nil)
	finding.Advise("move", nil)
	finding.Advise("survive", nil)

	return finding
}

func slowFigures(c *rules.Case, s *rules.Slowdown) []rules.Evidence {
	await := rules.DiskReadAwait
	if s.Kind == "writes" {
		await = rules.DiskWriteAwait
	}

	out := []rules.Evidence{
		c.Figure("median await of its "+s.Kind+" meanwhile", await, s.SlowS, "seconds", s.Cells),
		c.Figure("median await when it served at least as much, quickly", await, s.UsualS, "seconds", s.Calm),
		c.Figure("intervals in which it served at least as much, quickly", nil, float64(s.Calm.Count()),
			"", s.Calm),
		c.Figure("median requests completed meanwhile", rules.DiskOps, s.Ops, "1/s", s.Cells),
		c.Figure("median requests completed at other times", rules.DiskOps, s.UsualOps, "1/s", s.Cells.Not()),
		c.Figure("median bytes moved meanwhile", rules.DiskMoved, s.Moved, "bytes/s", s.Cells),
		c.Figure("median bytes moved at other times", rules.DiskMoved, s.UsualMoved, "bytes/s", s.Cells.Not()),
	}

	for _, x := range s.Excluded {
		out = append(out, rules.Evidence{Text: "excluded: " + x, From: c.Whole().From, To: c.Whole().To})
	}

	return out
}
