package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func flowControl() rules.Rule {
	rule := rules.Rule{ID: "mongodb/flow-control", Title: "Flow control holds writes back", Kind: rules.Cause,
		When:  "plimsoll:mongodb_flow_control_wait:ratio > 0.5",
		Cause: "When a majority of the replica set lags behind, the primary delays its own writes. If a slow disk is the reason, it is on a secondary.",
		Words: rules.Words{
			"held":    "Flow control held writes for {{.waited}}, {{.share}} of the {{.of}} of stalled waiting: the majority's commit point lags.",
			"absent":  "Members that confirmed nothing meanwhile: {{.members}}.",
			"lagging": "Member {{.member}} lagged by up to {{.lag}}, more than usual.",
		},
		Advice: map[string]rules.Advice{"secondaries": {Summary: "Diagnose the lagging secondaries: run it on their diagnostic.data",
			Expect:    "writes here are released when they catch up",
			TradeOff:  "disabling flow control lets the lag grow instead",
			NoCommand: onSecondaries}}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		finding, said, ok := wait{"replica set", FlowControlWait, ofWrites, rules.MinWaitShare,
			"time writes were held in the stalled time, summed"}.find(rule, input, held)
		if !ok {
			return nil
		}

		// Writes are held back before and after they stall, too.
		if len(held) > 0 {
			finding.Windows = input.Windows(timeline.Known(held[0].Values).Close(3))
		}

		finding.Say("held", said)
		if lagged := input.One(FlowControlLagged); lagged != nil {
			finding.Evidence = append(finding.Evidence,
				input.Figure("share of the stalled time in which flow control saw a majority lagging", FlowControlLagged,
					timeline.Mean(timeline.At(lagged, input.Stall.Cells)), "ratio", input.Stall.Cells))
		}

		sayMembers(input, &finding)

		finding.Advise("secondaries", nil)
		return []rules.Finding{finding}
	}

	return rule
}
