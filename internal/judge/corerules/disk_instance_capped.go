package corerules

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// exceededShare is the share of a cell spent over a limit above which the cell counts. A finding
// needs exceededS seconds in total; less is not worth reporting. EBS counts the time in which
// demand was over the limit, in microseconds.
const (
	exceededShare = 0.05
	exceededS     = 2.0
)

// weightingAdvice shifts network bandwidth to EBS, on instances that support it.
var weightingAdvice = rules.Advice{
	Summary:   "On M8, C8, R8 and X8 instances, set the bandwidth weighting to ebs-1",
	Expect:    "25 % more EBS bandwidth, if bytes rather than requests are the limit",
	TradeOff:  "network bandwidth falls by the same amount; no charge",
	NoCommand: "aws ec2 modify-instance-network-performance-options works only on a stopped instance, and stopping it loses the data on its instance store",
}

var instanceAdvice = map[string]rules.Advice{
	"instance": {Summary: "Move to an instance type with a higher EBS limit; leave the volume as it is",
		Expect:   "less waiting, until the next limit binds: the volume's",
		TradeOff: "the instance's price; a restart", NoCommand: changesInstance},
	"weighting": weightingAdvice,
	"spread": {Summary: "Spread load: other volumes of this instance share the limit",
		Expect: "the part they use becomes available", TradeOff: "more load on other hosts",
		NoCommand: "only you know which load can move"},
}

func diskInstanceCapped() rules.Rule {
	iopsOver, tpOver := rules.EBSInstanceIOPSExceeded, rules.EBSInstanceThroughputExceeded
	rule := rules.Rule{ID: "disk/instance-capped", Title: "The instance's EBS limit binds, not the volume's", Kind: rules.Cause,
		Traced: atDevice, Refutes: []rules.Resource{rules.VolumeIOPS, rules.VolumeThroughput},
		When:  "plimsoll:ebs_instance_iops_exceeded:ratio > 0.05 or plimsoll:ebs_instance_throughput_exceeded:ratio > 0.05",
		Needs: []*rules.Signal{}, AnyOf: []*rules.Signal{iopsOver, tpOver},
		Cause: "An EC2 instance has its own limit for all its volumes together, often lower than the volume's. EBS counts the time spent over each limit separately (NVMe log page 0xD0), so this is measured, not guessed.",
		Words: rules.Words{"exceeded": "The instance's limit was exceeded for {{with .IOPS}}{{.}} (IOPS){{end}}{{if and .IOPS .throughput}} and {{end}}{{with .throughput}}{{.}} (throughput){{end}}" +
			"{{with .share}}, in {{.}} of the stalled time{{end}}. A larger volume will not help.",
			"chance": "Stalls coincide with that no more often than by chance."},
		Advice: instanceAdvice}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, h := range held {
			over := timeline.Known(h.Values)
			vol := h.Labels.Get("volume_id")
			var seconds, bytesSeconds float64

			finding := rule.During(input, vol, rules.Share(over.Widen(1, 1), input.Stall.Cells), over)
			said := rules.Values{"IOPS": "", "throughput": "", "share": input.PartOfStall(finding.Weight)}
			for _, s := range []struct {
				signal       *rules.Signal
				what, metric string
			}{
				{iopsOver, "IOPS", "aws_ebs_csi_ec2_exceeded_iops_seconds_total"},
				{tpOver, "throughput", "aws_ebs_csi_ec2_exceeded_tp_seconds_total"},
			} {
				v := input.For(s.signal, "volume_id", vol)
				if v == nil {
					continue
				}

				x := timeline.Sum(v) * input.Grid.StepSeconds()
				seconds += x
				if s.signal == tpOver {
					bytesSeconds = x
				}

				said[s.what] = rules.Seconds(x)
				finding.Evidence = append(finding.Evidence,
					input.FigureOf("time over the instance's "+s.what+" limit", s.metric, x, "seconds", over))
			}

			if seconds < exceededS {
				continue
			}

			finding.PeriodS = input.Period(over.Close(input.Cells(5e9)))
			finding.Say("exceeded", said)
			if finding.Severity != rules.Info && input.Unrelated(over) {
				finding.Severity = rules.Info
				finding.Say("chance", nil)
			}

			input.Unsure(&finding, over)
			finding.Evidence = append(finding.Evidence, volumesOwn(&input.Signals, vol)...)
			if bytesSeconds >= exceededS { // it raises the bandwidth, not the IOPS
				finding.Advise("weighting", nil)
			}

			finding.Advise("instance", nil)
			finding.Advise("spread", nil)
			out = append(out, finding)
		}

		return out
	}

	return rule
}

// volumesOwn is the time over the volume's own limits, if EBS reported it.
func volumesOwn(sig *rules.Signals, vol string) []rules.Evidence {
	var out []rules.Evidence
	for _, s := range []struct {
		signal       *rules.Signal
		what, metric string
	}{
		{rules.EBSVolumeIOPSExceeded, "IOPS", "aws_ebs_csi_exceeded_iops_seconds_total"},
		{rules.EBSVolumeThroughputExceeded, "throughput", "aws_ebs_csi_exceeded_tp_seconds_total"},
	} {
		if v := sig.For(s.signal, "volume_id", vol); v != nil {
			out = append(out, sig.FigureOf("time over the volume's own "+s.what+" limit", s.metric,
				timeline.Sum(v)*sig.Grid.StepSeconds(), "seconds", timeline.Known(v)))
		}
	}
	return out
}

// instanceBinds reports whether EBS's own counters attribute most of these cells to the instance's
// limit and not to a volume's. Then a larger volume would not help.
func instanceBinds(sig *rules.Signals, cells timeline.Mask) bool {
	over := func(signals ...*rules.Signal) timeline.Mask {
		m := make(timeline.Mask, sig.Grid.N)
		for _, s := range signals {
			for _, t := range sig.Signal(s) {
				m = m.Or(timeline.Where(t.Values, func(x float64) bool { return x > exceededShare }))
			}
		}
		return m
	}
	instance := over(rules.EBSInstanceIOPSExceeded, rules.EBSInstanceThroughputExceeded)
	volume := over(rules.EBSVolumeIOPSExceeded, rules.EBSVolumeThroughputExceeded)
	return rules.Share(instance, cells) >= 0.5 && rules.Share(volume, cells) < 0.5
}
