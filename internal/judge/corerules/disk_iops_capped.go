package corerules

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// iopsCap: large requests are delayed for their bytes while small ones are delayed for their number, so
// both of EBS's counts grow if both limits are close together. Raising one alone does not help then:
// requests no longer delayed by one limit run into the other.
var iopsCap = capKind{
	limit: "IOPS", of: rules.DiskOps, counter: "aws_ebs_csi_exceeded_iops_seconds_total", margin: 1.5,
	plateau: func(k rules.Ceiling) (timeline.Plateau, bool) { return k.Iops, k.HasIOPS },
	counted: func(x counted) (float64, float64, timeline.Mask) { return x.iopsS, x.throughputS, x.overIOPS },
}

const raiseIOPSCosts = "gp3: USD 0.005 a month for each IOPS over 3,000 (us-east-1); pointless beyond the instance's own limit"

func diskIOPSCapped() rules.Rule {
	rule := rules.Rule{
		ID:     "disk/iops-capped",
		Title:  "The volume's IOPS cap binds",
		Kind:   rules.Cause,
		Traced: atDevice,
		When:   saturated,
		Needs:  []*rules.Signal{rules.DiskBusy, rules.DiskQueue, rules.DiskOps},
		Cause:  "A cloud volume serves a fixed number of requests per second and makes the rest wait in its queue. The device is never idle, the queue is deep, and the rate plateaus at a level that it does not exceed.",
		Words:  capWords,
		Advice: map[string]rules.Advice{
			"bursts": bursts,
			"raise": {Summary: "Then raise the volume's IOPS above {{.iops}}",
				Expect:   "the time at the cap shrinks in proportion, until {{with .request}}requests of {{.}} hit the throughput limit or the instance's limit{{else}}the throughput limit or the instance's limit binds{{end}}",
				TradeOff: raiseIOPSCosts, Do: []*rules.Remedy{raiseIOPS}},
			"raise both": {Summary: "Then raise the volume's IOPS above {{.iops}} and its throughput above {{.throughput}}: both limits bind at the same time",
				Expect:   "the time at the caps shrinks in proportion; raising one alone changes nothing",
				TradeOff: raiseIOPSCosts, Do: []*rules.Remedy{raiseBoth}},
		}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		return atTheirCaps(rule, c, held, iopsCap)
	}
	return rule
}
