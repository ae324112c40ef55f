package corerules

import (
	"fmt"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// stolenShare is the share of the CPUs' time withheld by the hypervisor above which it is
	// noticeable: one second in five.
	stolenShare = 0.2
	// creditsSpent is the number of CPU credits at which a burstable instance is down to its baseline.
	// CloudWatch averages, so it seldom reports exactly 0.
	creditsSpent = 1.0
)

func hostCPUStolen() rules.Rule {
	rule := rules.Rule{ID: "host/cpu-stolen", Title: "The hypervisor withholds CPU time", Kind: rules.Cause,
		Traced: forProcessor,
		When:   fmt.Sprintf("plimsoll:cpu_stolen:ratio > %g", stolenShare),
		Cause:  "A virtual machine that is ready to run waits until the hypervisor lets it: its neighbours need the CPUs, or it is a burstable instance without credits. Programs on it cannot see this. They use little CPU time but become slower anyway, and so do the threads that sync the log.",
		Words: rules.Words{
			"stolen":  "The hypervisor withheld {{.mean}} of the CPU time while clients stalled, and more than {{.least}} during {{.share}} of the stalled time. The machine itself used {{.busy}}.",
			"credits": "Its CPU credits were used up, down to {{.credits}}. It runs at its baseline until it earns more.",
			"unknown": "These sources do not show whether it is a burstable instance without credits or its neighbours need the CPUs.",
		},
		Advice: map[string]rules.Advice{
			"credits": {Summary: "On a burstable instance (AWS T, Azure B), check the CPU credits; if they are used up, switch to unlimited credits or choose a type with fixed performance",
				Expect:    "the machine gets the CPU time that is withheld now; the queries are not at fault",
				TradeOff:  "unlimited credits cost USD 0.05 per vCPU hour above the baseline (T3, Linux); another type has its own price",
				NoCommand: changesInstance},
			"move": {Summary: "Otherwise stop and start the machine, which moves it to another host, or use dedicated cores",
				Expect: "different neighbours", TradeOff: "a restart; the data on its instance store is lost",
				NoCommand: changesInstance},
		}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		if len(held) == 0 || !input.Stall.Any() {
			return nil
		}

		cells := timeline.Known(held[0].Values)
		finding, ok := rule.Condition(input, "host", cells)
		if !ok {
			return nil
		}

		stolen, busy := input.One(rules.CPUStolen), input.One(rules.CPUBusy)
		finding.Say("stolen", rules.Values{"mean": rules.Part(timeline.Mean(timeline.At(stolen, input.Stall.Cells))),
			"least": rules.Part(stolenShare),
			"share": rules.Part(rules.Share(cells, input.Stall.Cells)), "busy": rules.Part(timeline.Mean(timeline.At(busy, input.Stall.Cells)))})
		finding.Evidence = append(finding.Evidence,
			input.Figure("CPU time withheld by the hypervisor while stalled, mean", rules.CPUStolen,
				timeline.Mean(timeline.At(stolen, input.Stall.Cells)), "ratio", input.Stall.Cells))

		left := timeline.Quantile(timeline.At(input.One(rules.CPUCredits), input.Stall.Cells), 0)
		switch {
		case left <= creditsSpent:
			finding.Say("credits", rules.Values{"credits": rules.Number(left)})
			finding.Evidence = append(finding.Evidence,
				input.Figure("fewest CPU credits left while stalled", rules.CPUCredits, left, "", input.Stall.Cells))
		case left != left:
			finding.Say("unknown", nil)
		}

		finding.Advise("credits", nil)
		finding.Advise("move", nil)
		return []rules.Finding{finding}
	}

	return rule
}
