package corerules

import (
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A burst of writes explains a stall of the device if only devices report: something hands the device
// many times the usual bytes at once, it has no limit that these reach, and requests wait behind them.
// If a database reports, its own rules name the checkpoint or the flush.
const (
	burstLeast   = 1_000_000 // bytes per second; fewer do not fill a device
	burstStalls  = 0.5       // of the stalled time in bursts
	burstCalm    = 2.0       // calm time as a multiple of stalled time: a burst is an exception
	burstSamples = 3         // calm ones, to know what is usual
)

func diskWriteBursts() rules.Rule {
	rule := rules.Rule{ID: "disk/write-bursts", Title: "Bursts of writes saturate the device", Kind: rules.Cause,
		Traced:  atDevice,
		When:    saturated,
		Needs:   []*rules.Signal{rules.DiskBusy, rules.DiskQueue, rules.DiskWritten, rules.DiskWriteAwait},
		NoAlert: "it compares bursts with calm times; disk/iops-capped and disk/throughput-capped alert on saturation",
		Cause:   "Something hands the device many writes at once: a database's checkpoint, flush or compaction, the OS's page cache, a backup or another batch. Until the device has completed them, other requests wait in the same queue.",
		Words: rules.Words{
			"burst":     "In {{.share}} of the stalled time {{.device}} was saturated by a burst of writes: {{.burst}} instead of the usual {{.usual}}, with {{.queue}} requests in its queue.",
			"together":  "That is {{.bytes}} in a burst of {{.for}}.",
			"recurring": "It recurs every {{.period}}: look for what runs at that interval, such as checkpoints.",
			"who":       "These sources do not show which program writes.",
		},
		Advice: map[string]rules.Advice{"bursts": bursts,
			"who": {Summary: "Find out which program writes during a burst (pidstat -d 1, or plimsoll trace)",
				Expect: "the database's checkpointer, a flusher thread or another program", TradeOff: "none",
				NoCommand: "this only inspects, it changes nothing"}}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		// A database's own figures say more than its device's.
		if c.Stall.IsDatabase || !c.Stall.Any() {
			return nil
		}

		capped := append(ceilings(c, held, iopsCap), ceilings(c, held, throughputCap)...)
		var out []rules.Finding
		for _, h := range held {
			dev := h.Labels.Get("device")
			if slices.ContainsFunc(capped, func(k rules.Ceiling) bool { return k.Device == dev }) ||
				c.JudgedBelow()[dev] {
				continue
			}
			if f, ok := writeBurst(rule, c, dev, timeline.Known(h.Values)); ok {
				out = append(out, f)
			}
		}
		return out
	}

	return rule
}

// writeBurst judges one device in the cells in which it was saturated.
func writeBurst(r rules.Rule, input *rules.Case, dev string, full timeline.Mask) (rules.Finding, bool) {
	get := func(s *rules.Signal) []float64 { return input.For(s, "device", dev) }
	written := get(rules.DiskWritten)
	cells, calm := full.And(input.Stall.Cells), input.NotStalled().And(timeline.Known(written))

	share := rules.Share(full.Widen(1, 1), input.Stall.Cells)
	samples := calm.Count() / input.SampleCells(rules.DiskWritten)
	if share < burstStalls || input.Unrelated(full) || samples < burstSamples ||
		float64(calm.Count()) < burstCalm*float64(input.Stall.Cells.Count()) {
		return rules.Finding{}, false
	}

	// Both medians: one large write in a calm time, or a pause in a burst, changes neither.
	burst := timeline.Quantile(timeline.At(written, cells), 0.5)
	usual := timeline.Quantile(timeline.At(written, calm), 0.5)
	if !(burst >= burstLeast) || !(burst >= rules.BurstFactor*usual) {
		return rules.Finding{}, false
	}

	queue := timeline.Quantile(timeline.At(get(rules.DiskQueue), cells), 0.5)
	finding := r.During(input, dev, share, cells.Close(3))
	// Only the device's figures show this: the OS may write its page cache while no client waits.
	finding.Severity = rules.LessThanCritical(finding.Severity)
	input.Unsure(&finding, full)
	finding.PeriodS = input.Period(cells.Close(input.Cells(5e9)))

	v := rules.Values{
		"share":  rules.Part(share),
		"device": rules.Called(dev),
		"burst":  rules.Of(burst, "bytes/s"),
		"usual":  rules.Of(usual, "bytes/s"),
		"queue":  rules.Number(queue),
	}
	finding.Say("burst", v)

	if longest := input.LongestS(cells); longest > 0 {
		finding.Say("together", rules.Values{"bytes": rules.Bytes(burst * longest), "for": rules.Seconds(longest)})
	}

	if finding.PeriodS > 0 {
		finding.Say("recurring", rules.Values{"period": rules.Seconds(finding.PeriodS)})
	}

	finding.Say("who", nil)
	finding.Evidence = []rules.Evidence{
		input.Figure("bytes written per second in a burst, median", rules.DiskWritten, burst, "bytes/s", cells),
		input.Figure("bytes written per second at calm times, median", rules.DiskWritten, usual, "bytes/s", calm),
		input.Figure("queue in a burst, median", rules.DiskQueue, queue, "requests", cells),
		input.Figure("write await in a burst, median", rules.DiskWriteAwait,
			timeline.Quantile(timeline.At(get(rules.DiskWriteAwait), cells), 0.5), "seconds", cells),
		input.Figure("write await at calm times, median", rules.DiskWriteAwait,
			timeline.Quantile(timeline.At(get(rules.DiskWriteAwait), calm), 0.5), "seconds", calm),
	}
	adviseBursts(input, &finding)
	finding.Advise("who", nil)
	return finding, true
}
