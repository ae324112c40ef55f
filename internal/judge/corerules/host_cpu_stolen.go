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
	r := rules.Rule{ID: "host/cpu-stolen", Title: "The hypervisor withholds CPU time", Kind: rules.Cause,
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

	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		if len(held) == 0 || !c.Stall.Any() {
			return nil
		}

		cells := timeline.Known(held[0].Values)
		f, ok := r.Condition(c, "host", cells)
		if !ok {
			return nil
		}

		stolen, busy := c.One(rules.CPUStolen), c.One(rules.CPUBusy)
		f.Say("stolen", rules.Values{"mean": rules.Part(timeline.Mean(timeline.At(stolen, c.Stall.Cells))),
			"least": rules.Part(stolenShare),
			"share": rules.Part(rules.Share(cells, c.Stall.Cells)), "busy": rules.Part(timeline.Mean(timeline.At(busy, c.Stall.Cells)))})
		f.Evidence = append(f.Evidence,
			c.Figure("CPU time withheld by the hypervisor while stalled, mean", rules.CPUStolen,
				timeline.Mean(timeline.At(stolen, c.Stall.Cells)), "ratio", c.Stall.Cells))

		left := timeline.Quantile(timeline.At(c.One(rules.CPUCredits), c.Stall.Cells), 0)
		switch {
		case left <= creditsSpent:
			f.Say("credits", rules.Values{"credits": rules.Number(left)})
			f.Evidence = append(f.Evidence,
				c.Figure("fewest CPU credits left while stalled", rules.CPUCredits, left, "", c.Stall.Cells))
		case left != left:
			f.Say("unknown", nil)
		}

		f.Advise("credits", nil)
		f.Advise("move", nil)
		return []rules.Finding{f}
	}

	return r
}
