package corerules

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// cpuAlways is the share of the time above which saturation is the normal state.
const cpuAlways = 0.90

// saturatedToo is the share of the stalled time above which a device counts as saturated in
// addition to the CPUs.
const saturatedToo = 0.30

func hostCPUSaturated() rules.Rule {
	rule := rules.Rule{ID: "host/cpu-saturated", Title: "The CPUs are saturated", Kind: rules.Cause, Traced: forProcessor,
		When:  "plimsoll:cpu_busy:ratio > 0.9",
		Cause: "Operations wait for a CPU. Everything the database does becomes slower together, including eviction and checkpoints, while the disk has spare capacity.",
		Words: rules.Words{
			"busy":          "The CPUs were over 90 % busy in {{.share}} of the stalled time (on average {{.mean}} busy).",
			"no stall":      "The CPUs were over 90 % busy for {{.for}}: {{.of}} of the time (on average {{.mean}} busy). These sources show no stall in that time.",
			"always":        "The CPUs were over 90 % busy for {{.for}}: {{.of}} of the time (on average {{.mean}} busy). {{.clients}} took {{.latency}} at the median, and there is no calm time to compare that with.",
			"disk as well":  "The device {{.device}} was also saturated in {{.share}} of it: start there.",
			"unseen":        "It is unknown whether the data's volume was saturated as well: its device is not in these sources.",
			"either, cause": "Operations wait for a CPU, and everything the database does becomes slower together. Here a device was saturated in a good part of the stalled time as well: one may hide the other.",
		},
		Advice: map[string]rules.Advice{"use less": {Summary: "Find what uses the CPU (slow queries, missing indexes, compression, many connections) or use an instance with more cores",
			Expect:   "waiting for a CPU ends; {{with .device}}waiting for {{.}} does not{{else}}{{if .unseen}}it is unknown whether clients also wait for the volume, because its device is not in these sources{{else}}a faster volume would change nothing{{end}}{{end}}",
			TradeOff: "the instance's price", NoCommand: "it depends on what uses the CPU: pidstat -u 1 10 shows it"}}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		if len(held) == 0 {
			return nil
		}

		cells := timeline.Known(held[0].Values)
		if !input.Stall.Any() {
			return withoutStall(rule, input, cells)
		}

		in := rules.Share(cells, input.Stall.Cells)
		finding, ok := rule.Condition(input, "host", cells)
		if !ok {
			// The CPUs are nearly always saturated, so there is hardly any other time to compare with. If
			// there is, clients stalled as often in it, and the CPUs do not explain the stalls.
			if in < 0.5 || rules.Share(cells, input.Stall.Active) < cpuAlways {
				return nil
			}
			finding = rule.During(input, "host", in, cells.And(input.Stall.Cells))
			finding.Evidence = append(finding.Evidence,
				input.Remark("it held nearly all the time, so there is no other time to compare with"))
		}

		if rules.Share(cells, input.Stall.Active) >= cpuAlways {
			finding.Severity = rules.LessThanCritical(finding.Severity)
		}

		busy := input.One(rules.CPUBusy)
		finding.Say("busy", rules.Values{"share": rules.Part(in), "mean": rules.Part(timeline.Mean(timeline.At(busy, input.Stall.Cells)))})
		finding.Evidence = append(finding.Evidence,
			input.Figure("mean CPU use while stalled", rules.CPUBusy, timeline.Mean(timeline.At(busy, input.Stall.Cells)), "ratio",
				input.Stall.Cells))

		if run := input.One(rules.ProcsRunning); run != nil {
			finding.Evidence = append(finding.Evidence,
				input.Figure("tasks running or waiting for a CPU while stalled, median", rules.ProcsRunning,
					timeline.Quantile(timeline.At(run, input.Stall.Cells), 0.5), "", input.Stall.Cells))
		}

		if cores := input.One(rules.CPUCores); cores != nil {
			finding.Evidence = append(
				finding.Evidence,
				input.Figure("CPUs", rules.CPUCores, timeline.Max(cores), "", timeline.Known(cores)),
			)
		}

		// A faster volume can only be ruled out if the volume was seen and was not saturated.
		advice := rules.Values{"device": "", "unseen": ""}
		if input.Elsewhere != nil {
			finding.Severity = rules.LessThanCritical(finding.Severity)
			finding.Say("unseen", nil)
			advice["unseen"] = "elsewhere"
		}

		if dev, share := saturatedInStall(input); share >= saturatedToo {
			// If a device also holds everything up, clients seldom wait for a busy CPU first.
			finding.Severity = rules.LessThanCritical(finding.Severity)
			finding.Explain("either, cause", nil)
			finding.Say("disk as well", rules.Values{"device": rules.Called(dev), "share": rules.Part(share)})
			advice["device"] = rules.Called(dev)
		}

		finding.Advise("use less", advice)
		return []rules.Finding{finding}
	}

	return rule
}

// longWithoutStall is the share of the time above which busy CPUs are reported even though nothing
// stalled.
const longWithoutStall = 0.5

// withoutStall is the finding if the CPUs are busy for most of the time and nothing stalled: a
// warning if no source reports what clients experienced, or if they always waited long.
func withoutStall(r rules.Rule, c *rules.Case, cells timeline.Mask) []rules.Finding {
	busy := c.One(rules.CPUBusy)
	of := rules.Share(cells, timeline.Known(busy))
	if of < longWithoutStall {
		return nil
	}

	f := r.Finding("host")
	f.Severity = rules.Info
	if !c.Stall.IsDatabase {
		f.Severity = rules.Warning
	}

	f.Windows = c.Windows(cells)
	v := rules.Values{"for": rules.Seconds(c.Seconds(cells)), "of": rules.Part(of),
		"mean": rules.Part(timeline.Mean(timeline.At(busy, cells)))}
	if always(c, &f, of) {
		v["clients"], v["latency"] = rules.Called(c.Stall.Called()), rules.Seconds(usualLatency(c))
		f.Say("always", v)
	} else {
		f.Say("no stall", v)
	}

	f.Evidence = []rules.Evidence{c.Figure("mean CPU use", rules.CPUBusy, timeline.Mean(busy), "ratio",
		timeline.Known(busy))}
	f.Advise("use less", rules.Values{"device": "", "unseen": "elsewhere"})
	return []rules.Finding{f}
}

// saturatedInStall returns the device that was saturated in the largest share of the stalled time.
func saturatedInStall(c *rules.Case) (device string, share float64) {
	for _, t := range c.Signal(rules.DiskBusy) {
		dev := t.Labels.Get("device")
		full, _ := c.SaturatedDevice(dev)
		if s := rules.Share(full, c.Stall.Cells); s > share {
			device, share = dev, s
		}
	}
	return device, share
}
