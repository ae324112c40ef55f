package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A write daemon cycle is due every 80 s. InterSystems' own monitor alerts from 90 s (System
// Monitor's documentation).
const cycleAlertS = 90.0

// cycleEveryS is how often the write daemon begins a cycle.
const cycleEveryS = 80.0

func writeDaemonStall() rules.Rule {
	rule := rules.Rule{ID: "iris/write-daemon-stall", Title: "The write daemon cannot finish its cycle",
		Kind:  rules.Cause,
		When:  "plimsoll:iris_write_daemon_cycle:seconds >= 90",
		Needs: []*rules.Signal{WriteDaemonCycle},
		Cause: "About every 80 s the write daemon writes all changed blocks twice: to the write image journal, then to the databases. When a cycle takes longer than that, changed blocks pile up; reads queue on the volume behind the daemon, and if too few buffers are clean, global updates are held back. (A queue that never reaches zero is normal.)",
		Words: rules.Words{"cycle": "The write daemon's cycle took up to {{.longest}}, and {{.alert}} or more in {{.share}} of the time."},
		Advice: map[string]rules.Advice{
			"apart": {Summary: "Put the WIJ, the journal and the databases on separate volumes",
				Expect: "the phases stop queueing behind each other", TradeOff: "more volumes to snapshot together",
				NoCommand: inPortal},
			"WIJ": {Summary: "The WIJ takes the larger part: give it its own volume with enough throughput (it is written in 256 KB blocks, sequentially)",
				Expect:    "the phases stop queueing behind each other",
				TradeOff:  "more volumes to snapshot together",
				NoCommand: inPortal},
			"stripe": {Summary: "Stripe the database volume (LVM, gp3): this lowers read latency and also raises the caps",
				Expect:    "shorter write phases, fewer read spikes while the daemon writes",
				TradeOff:  "losing one volume loses the stripe",
				NoCommand: "the databases have to be copied to it first: plimsoll emit writes the commands for the volumes"},
		}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		cycle := input.One(WriteDaemonCycle)
		over := timeline.Where(cycle, func(x float64) bool { return x >= cycleAlertS })
		seen := timeline.Known(cycle)

		if over.Count() == 0 {
			return nil
		}

		finding := rule.Finding("write daemon")
		finding.Weight = rules.Share(over, seen)
		finding.Severity = rules.Warning

		if finding.Weight >= 0.3 {
			finding.Severity = rules.Critical
		}

		finding.Windows = input.Windows(over)
		finding.Say("cycle", rules.Values{"longest": rules.Seconds(timeline.Max(cycle)),
			"alert": rules.Seconds(cycleAlertS), "share": rules.Part(finding.Weight)})
		finding.Evidence = []rules.Evidence{input.FigureOf("longest cycle", "iris_wd_cycle_time",
			timeline.Max(cycle),
			"seconds", over)}

		for _, s := range []struct {
			signal             *rules.Signal
			metric, text, unit string
		}{
			{WriteDaemonWrite, "iris_wd_write_time", "writing databases, most in a cycle", "seconds"},
			{WIJ, "iris_wdwij_time", "writing the WIJ, most in a cycle", "seconds"},
			{DatabaseLatency, "iris_db_latency", "random database read, slowest", "seconds"},
			{PhysicalWrites, "iris_phys_writes_per_sec", "physical writes, most", "1/s"},
		} {
			if v := input.One(s.signal); v != nil {
				finding.Evidence = append(finding.Evidence,
					input.FigureOf(s.text, s.metric, timeline.Max(v), s.unit, timeline.Known(v)))
			}
		}

		// The longer phase decides: separating the databases does not help a slow WIJ.
		wij, db := timeline.Max(input.One(WIJ)), timeline.Max(input.One(WriteDaemonWrite))
		if wij > db {
			finding.Advise("WIJ", nil)
		} else {
			finding.Advise("apart", nil)
		}

		finding.Advise("stripe", nil)
		return []rules.Finding{finding}
	}

	return rule
}
