package corerules

import (
	"fmt"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func atThroughput(k rules.Ceiling) (timeline.Plateau, bool) { return k.Throughput, k.HasTP }

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

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		var out []rules.Finding
		all := ceilings(input, held, atThroughput)
		for _, ceiling := range all {
			level := rules.Of(ceiling.Throughput.Level, "bytes/s")
			finding := capFinding(rule, input, ceiling, ceiling.Throughput, level, "bytes/s", rules.DiskMoved)
			limit, sold := rules.SoldThroughput(ceiling.Throughput.Level)
			finding.Cap = &rules.Cap{Throughput: ceiling.Throughput.Level, Types: limit.Types}

			if sold {
				finding.Evidence = append(finding.Evidence,
					input.Remark(fmt.Sprintf("%s (%s) is within 4 %% of %s", level, mibs(ceiling.Throughput.Level), limit.What)))
			}

			adviseBursts(input, &finding)
			raise := rules.Values{"throughput": mibs(ceiling.Throughput.Level),
				"iops": rules.Number(ceiling.Iops.Level)}
			ops := input.For(rules.DiskOps, "device", ceiling.Device)
			iops := timeline.Quantile(timeline.At(ops, ceiling.Throughput.Cells), 0.5)

			switch {
			case ceiling.HasIOPS && ceiling.Together:
				finding.Advise("raise both", raise)
			default:
				finding.Advise("raise", raise)
			}

			if iops == iops && !(ceiling.HasIOPS && ceiling.Together) {
				finding.Evidence = append(finding.Evidence,
					input.Figure("median IOPS at the plateau: not the limit that binds", rules.DiskOps, iops, "1/s",
						ceiling.Throughput.Cells))
			}

			finding.Evidence = append(finding.Evidence, company(input, ceiling, all, atThroughput)...)
			out = append(out, finding)
		}

		return settledByCount(rule, input, out, throughputMargin,
			func(x counted) (float64, float64, timeline.Mask) { return x.throughputS, x.iopsS, x.overThroughput },
			"throughput", rules.DiskMoved, "aws_ebs_csi_exceeded_tp_seconds_total")
	}

	return rule
}
