package corerules

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

var throughputCap = capKind{
	limit: "throughput", of: rules.DiskMoved, counter: "aws_ebs_csi_exceeded_tp_seconds_total", margin: 1.2,
	plateau: func(k rules.Ceiling) (timeline.Plateau, bool) { return k.Throughput, k.HasTP },
	counted: func(x counted) (float64, float64, timeline.Mask) {
		return x.throughputS, x.iopsS, x.overThroughput
	},
}

const raiseThroughputCosts = "gp3: USD 0.04 a month for each MiB/s over 125 (us-east-1), at most 0.25 MiB/s for each IOPS"

func diskThroughputCapped() rules.Rule {
	rule := rules.Rule{ID: "disk/throughput-capped", Title: "The volume's throughput cap binds",
		Kind:   rules.Cause,
		Traced: atDevice, When: saturated,
		Needs:   []*rules.Signal{rules.DiskBusy, rules.DiskQueue, rules.DiskMoved},
		NoAlert: "its condition is the same as for disk/iops-capped; the rate that plateaus shows which of the two limits binds",
		Cause:   "A cloud volume moves a fixed number of bytes per second and makes the rest wait in its queue. With large requests this limit binds before the IOPS limit, and buying IOPS changes nothing.",
		Words:   capWords,
		Advice: map[string]rules.Advice{
			"bursts": bursts,
			"raise": {Summary: "Then raise the volume's throughput above {{.throughput}}; leave its IOPS as they are",
				Expect:   "the time at the cap shrinks in proportion, until the instance's own limit binds",
				TradeOff: raiseThroughputCosts, Do: []*rules.Remedy{raiseThroughput}},
			"raise both": {Summary: "Then raise the volume's throughput above {{.throughput}} and its IOPS above {{.iops}}: both limits bind at the same time",
				Expect:   "the time at the caps shrinks in proportion; raising one alone changes nothing",
				TradeOff: raiseThroughputCosts, Do: []*rules.Remedy{raiseBoth}},
		}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		return atTheirCaps(rule, c, held, throughputCap)
	}
	return rule
}
