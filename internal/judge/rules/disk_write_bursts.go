package rules

import (
	"slices"

	"plimsoll/internal/record/timeline"
)

// A burst of writes explains a stall of the device if only devices report: something hands the device
// many times the usual bytes at once, it has no limit that these reach, and requests wait behind them.
// If a database reports, its own rules name the checkpoint or the flush.
const (
	burstFactor  = 4.0       // times the bytes written per second at calm times
	burstLeast   = 1_000_000 // bytes per second; fewer do not fill a device
	burstStalls  = 0.5       // of the stalled time in bursts
	burstCalm    = 2.0       // times as long calm as stalled: a burst is an exception
	burstSamples = 3         // calm ones, to know what is usual
)

func diskWriteBursts() Rule {
	r := Rule{ID: "disk/write-bursts", Title: "Bursts of writes saturate the device", Kind: Cause,
		Traced:  atDevice,
		When:    saturated,
		Needs:   []*Signal{DiskBusy, DiskQueue, DiskWritten, DiskWriteAwait},
		NoAlert: "it compares bursts with calm times; disk/iops-capped and disk/throughput-capped alert on saturation",
		Cause:   "Something hands the device many writes at once: a database's checkpoint, flush or compaction, the OS's page cache, a backup or another batch. The device takes as long as it takes for them, and other requests wait in the same queue.",
		Words: Words{
			"burst":     "In {{.share}} of the stalled time {{.device}} was saturated by a burst of writes: {{.burst}} instead of the usual {{.usual}}, with {{.queue}} requests in its queue.",
			"together":  "That is {{.bytes}} in a burst of {{.for}}.",
			"recurring": "It recurs every {{.period}}: look for what runs at that interval, such as checkpoints.",
			"who":       "These sources do not show which program writes.",
		},
		Advice: map[string]Advice{"bursts": bursts,
			"who": {Summary: "Find out which program writes during a burst (pidstat -d 1, or plimsoll trace)",
				Expect: "the database's checkpointer, a flusher thread or another program", TradeOff: "none",
				NoCommand: "this only inspects, it changes nothing"}}}

	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		// A database's own figures say more than its device's.
		if c.Stall.IsDatabase || !c.Stall.Any() {
			return nil
		}

		capped := append(c.ceilings(held, atIOPS), c.ceilings(held, atThroughput)...)
		var out []Finding
		for _, h := range held {
			dev := h.Labels.Get("device")
			if slices.ContainsFunc(capped, func(k ceiling) bool { return k.device == dev }) || c.JudgedBelow()[dev] {
				continue
			}
			if f, ok := r.writeBurst(c, dev, timeline.Known(h.Values)); ok {
				out = append(out, f)
			}
		}
		return out
	}

	return r
}

// writeBurst judges one device in the cells in which it was saturated.
func (r Rule) writeBurst(c *Case, dev string, full timeline.Mask) (Finding, bool) {
	get := func(s *Signal) []float64 { return c.For(s, "device", dev) }
	written := get(DiskWritten)
	cells, calm := full.And(c.Stall.Cells), c.NotStalled().And(timeline.Known(written))

	share := Share(full.Widen(1, 1), c.Stall.Cells)
	samples := calm.Count() / c.perSample(DiskWritten)
	if share < burstStalls || c.unrelated(full) || samples < burstSamples ||
		float64(calm.Count()) < burstCalm*float64(c.Stall.Cells.Count()) {
		return Finding{}, false
	}

	// Both medians: one large write in a calm time, or a pause in a burst, changes neither.
	burst := timeline.Quantile(timeline.At(written, cells), 0.5)
	usual := timeline.Quantile(timeline.At(written, calm), 0.5)
	if !(burst >= burstLeast) || !(burst >= burstFactor*usual) {
		return Finding{}, false
	}

	queue := timeline.Quantile(timeline.At(get(DiskQueue), cells), 0.5)
	f := r.Finding(dev)
	f.Weight = share
	// The device is the only witness: the OS may write its page cache while no client waits.
	f.Severity = lessThanCritical(c.SeverityOf(share))
	c.unsure(&f, full)
	f.Windows = c.Windows(cells.Close(3))
	f.PeriodS = c.Period(cells.Close(c.Cells(5e9)))

	v := Values{"share": Part(share), "device": Called(dev), "burst": Of(burst, "bytes/s"),
		"usual": Of(usual, "bytes/s"), "queue": Number(queue)}
	f.Say("burst", v)

	if longest := c.longestOf(cells); longest > 0 {
		f.Say("together", Values{"bytes": Bytes(burst * longest), "for": Seconds(longest)})
	}

	if f.PeriodS > 0 {
		f.Say("recurring", Values{"period": Seconds(f.PeriodS)})
	}

	f.Say("who", nil)
	f.Evidence = []Evidence{
		c.Figure("bytes written per second in a burst, median", DiskWritten, burst, "bytes/s", cells),
		c.Figure("bytes written per second at calm times, median", DiskWritten, usual, "bytes/s", calm),
		c.Figure("queue in a burst, median", DiskQueue, queue, "requests", cells),
		c.Figure("write await in a burst, median", DiskWriteAwait,
			timeline.Quantile(timeline.At(get(DiskWriteAwait), cells), 0.5), "seconds", cells),
		c.Figure("write await at calm times, median", DiskWriteAwait,
			timeline.Quantile(timeline.At(get(DiskWriteAwait), calm), 0.5), "seconds", calm),
	}
	c.adviseBursts(&f)
	f.Advise("who", nil)
	return f, true
}

// longestOf is the length of the longest stretch of cells, in seconds.
func (c *Case) longestOf(cells timeline.Mask) float64 {
	longest, now := 0, 0
	for _, in := range cells {
		if now++; !in {
			now = 0
		}
		longest = max(longest, now)
	}
	return float64(longest) * c.Grid.StepSeconds()
}
