package corerules

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// stalledCheck is the share of a period's minutes that failed EBS's check, above which the check
// counts as failed: any minute of five.
const stalledCheck = 0.1

func diskVolumeStalled() rules.Rule {
	rule := rules.Rule{ID: "disk/volume-stalled", Title: "EBS's own check found the volume stalled", Kind: rules.Cause,
		Traced: atDevice, Refutes: []rules.Resource{rules.VolumeIOPS, rules.VolumeThroughput},
		When:  "plimsoll:ebs_stalled:ratio > 0.1",
		Cause: "EBS checks each minute whether a volume completes its requests. A volume that completed none in a minute although requests waited is stalled: its storage or the path to it is at fault. Nothing that the database does causes it, and nothing bought for the volume prevents it.",
		Words: rules.Words{
			"stalled": "{{.volume}} failed EBS's check (VolumeStalledIOCheck) for {{.for}}{{with .share}}, in {{.}} of the stalled time{{end}}.",
			"chance":  "Stalls coincide with that no more often than by chance.",
		},
		Advice: map[string]rules.Advice{
			"case": {Summary: "Open a support case with the volume's id and these times",
				Expect: "AWS examines that volume for that time", TradeOff: "none",
				NoCommand: "support cases are opened in the provider's console"},
			"move": {Summary: "If it does not recover, detach and attach it, stop and start the instance, or fail over to a member on another volume",
				Expect:    "another path to the storage, or another volume",
				TradeOff:  "the member is interrupted",
				NoCommand: "failover follows your database's own procedure"},
			"do not buy": {Summary: "Do not buy IOPS or throughput for this",
				Expect: "no change: the volume completes nothing at all", TradeOff: "none; it saves money",
				NoCommand: nothingToDo},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, t := range input.Signal(rules.EBSStalledCheck) {
			failed := timeline.Where(t.Values, func(x float64) bool { return x > stalledCheck })
			if input.Seconds(failed) == 0 {
				continue
			}

			finding := rule.During(input, t.Labels.Get("volume_id"),
				rules.Share(failed.Widen(1, 1), input.Stall.Cells), failed)
			finding.Say("stalled", rules.Values{
				"volume": rules.Called(finding.Subject),
				"for":    rules.Seconds(input.Seconds(failed)),
				"share":  input.PartOfStall(finding.Weight),
			})
			switch {
			case !input.Stall.Any():
				finding.Severity = rules.Warning // a fault even if no client used the volume
			case finding.Severity != rules.Info && input.Unrelated(failed):
				finding.Severity = rules.Info
				finding.Say("chance", nil)
			default:
				finding.Foremost = finding.Severity != rules.Info
			}

			finding.Evidence = []rules.Evidence{input.Figure("time in which EBS's check failed", rules.EBSStalledCheck, input.Seconds(failed),
				"seconds", failed)}
			finding.Advise("case", nil)
			finding.Advise("move", nil)
			finding.Advise("do not buy", nil)
			out = append(out, finding)
		}

		return out
	}

	return rule
}

// volumeStalls reports whether EBS's check failed while clients stalled.
func volumeStalls(c *rules.Case) bool {
	for _, t := range c.Signal(rules.EBSStalledCheck) {
		if timeline.Max(timeline.At(t.Values, c.Stall.Cells)) > stalledCheck {
			return true
		}
	}
	return false
}
