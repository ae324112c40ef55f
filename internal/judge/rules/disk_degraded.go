package rules

import (
	"slices"
	"time"

	"plimsoll/internal/record/timeline"
)

func diskDegraded() Rule {
	r := Rule{ID: "disk/degraded", Title: "The volume itself became slow", Kind: Cause, Traced: atDevice,
		Refutes: []Resource{VolumeIOPS, VolumeThroughput},
		Needs:   []*Signal{DiskOps, DiskMoved}, AnyOf: []*Signal{DiskReadAwait, DiskWriteAwait},
		NoAlert: "it compares a device with itself at other times, and with its peers",
		Cause:   "The volume takes longer for each request, although it gets no more requests than it serves quickly at other times, and of the same size. Network volumes have such episodes, mostly of minutes: a replica fails over, a path is congested, a neighbour is busy. Nothing that the database or its owner does causes it, and nothing bought for the volume prevents it.",
		Words: Words{
			"slow":       "{{.kind}} on {{.device}} took {{.slow}} instead of the {{.usual}} usual at that rate, for {{.for}}{{with .share}}, in {{.}} of the stalled time{{end}}.",
			"less":       "It completed {{.ops}} instead of the usual {{.usualOps}} while its queue grew: there were enough requests, but the volume was slow.",
			"same":       "It served {{.ops}}, usually {{.usualOps}}: no more than it serves quickly at other times.",
			"flat":       "Its rate hardly varied: it may have been capped at {{.ops}} during that time.",
			"recurring":  "It recurs every {{.period}}.",
			"no credits": "{{.volume}} has no burst credits, so exhausted credits are not the cause.",
			"peers":      "{{.peers}} served requests at their usual speed.",
			"alone":      "No other device on this host was busy enough to compare with.",
		},
		Advice: map[string]Advice{
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

	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		all := c.slowdowns()
		var out []Finding
		for _, s := range all {
			if s.instanceLimited || c.firstTouch(s.device) != nil || len(s.alike) > 0 && len(s.quick) == 0 ||
				c.burstEnded(s) != nil {
				continue // the whole host is slow: disk/instance-burst-exhausted
			}
			// A stacked device is slow because its leg is, or by itself: disk/layer-slow.
			if stacked(s.device) && (slices.ContainsFunc(all, func(o *slowdown) bool { return !stacked(o.device) }) ||
				slices.ContainsFunc(c.layerLosses(), func(l *layerLoss) bool { return l.device == s.device })) {
				continue
			}
			out = append(out, r.degraded(c, s))
		}

		return out
	}

	return r
}

func (r Rule) degraded(c *Case, s *slowdown) Finding {
	f := r.Finding(s.device)
	f.Weight = Share(s.cells.Widen(1, 1), c.Stall.Cells)
	f.Severity = c.SeverityOf(f.Weight)
	c.unsure(&f, s.slow)
	f.Windows = c.Windows(s.cells.Close(3))

	// Without a database that waits, and without another device that stayed quick, the only witness is
	// the device itself, and its latencies may naturally vary that much.
	if witnessed := c.Stall.IsDatabase || len(s.quick) > 0; witnessed {
		f.Foremost = true
	} else {
		f.Severity = lessThanCritical(f.Severity)
	}

	v := Values{"kind": upperFirst(Called(s.kind)), "device": Called(s.device), "slow": Seconds(s.slowS),
		"usual": Seconds(s.usualS), "for": Seconds(c.Seconds(s.cells)), "share": "",
		"ops": Of(s.ops, "IOPS"), "usualOps": Of(s.usualOps, "IOPS"), "peers": joined(s.quick)}
	if c.Change == nil {
		v["share"] = Part(f.Weight)
	}

	f.Say("slow", v)
	switch {
	case s.less:
		f.Say("less", v)
	default:
		f.Say("same", v)
	}

	if s.less && s.flat {
		f.Say("flat", v)
	}

	// A volume with burst credits can slow down periodically; one without cannot.
	if f.PeriodS = c.Period(s.cells.Close(c.Cells(time.Minute))); f.PeriodS > 0 {
		v["period"], v["volume"] = Seconds(f.PeriodS), Called(c.Provisioned[s.device].Text)
		f.Say("recurring", v)
		if c.Provisioned[s.device].Even {
			f.Say("no credits", v)
		}
	}

	if len(s.quick) > 0 {
		f.Say("peers", v)
	} else {
		f.Say("alone", nil)
	}

	f.Evidence = c.slowFigures(s)
	f.SupportCase = s.supportCase(c)
	f.Advise("case", nil)
	f.Advise("do not buy", nil)
	f.Advise("move", nil)
	f.Advise("survive", nil)

	return f
}

func (c *Case) slowFigures(s *slowdown) []Evidence {
	await := DiskReadAwait
	if s.kind == "writes" {
		await = DiskWriteAwait
	}

	out := []Evidence{
		c.Figure("median await of its "+s.kind+" meanwhile", await, s.slowS, "seconds", s.cells),
		c.Figure("median await when it served at least as much, quickly", await, s.usualS, "seconds", s.calm),
		c.Figure("intervals in which it served at least as much, quickly", nil, float64(s.calm.Count()),
			"", s.calm),
		c.Figure("median requests completed meanwhile", DiskOps, s.ops, "1/s", s.cells),
		c.Figure("median requests completed at other times", DiskOps, s.usualOps, "1/s", s.cells.Not()),
		c.Figure("median bytes moved meanwhile", DiskMoved, s.moved, "bytes/s", s.cells),
		c.Figure("median bytes moved at other times", DiskMoved, s.usualMoved, "bytes/s", s.cells.Not()),
	}

	for _, x := range s.excluded {
		out = append(out, Evidence{Text: "excluded: " + x, From: c.Whole().From, To: c.Whole().To})
	}

	return out
}
