package corerules

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// sinceFact is the fact with which a source reports that its only sample contains averages since boot.
const sinceFact = "averages since"

// Averages since boot are a sum over days: a device that is slow in them is slow most of the time.
const (
	bootSlowS   = 0.050 // a rotating disk with a short queue takes 5 to 20 ms
	bootMinRate = 1.0   // requests per second
	bootBusy    = 0.9
	bootQueue   = 2.0
)

// diskSinceBoot judges the averages since boot: iostat's first report, or one page of an exporter.
func diskSinceBoot() rules.Rule {
	rule := rules.Rule{
		ID:      rules.SinceBoot,
		Title:   "What the averages since boot show",
		Kind:    rules.Symptom,
		Sums:    true,
		Whole:   true,
		Needs:   []*rules.Signal{},
		AnyOf:   []*rules.Signal{rules.DiskWriteAwait, rules.DiskReadAwait},
		NoAlert: "it judges a single report; the rules for each cause have alerts",
		Cause:   "iostat's first report, and one page of counters, are averages since the machine started. They show what is usual. A stall of minutes disappears in days.",
		Words: rules.Words{
			"busy title": "{{.device}} is busy and has a queue, on average since boot",
			"slow title": "Requests of {{.device}} are slow, on average since boot",
			"usual":      "On average since boot{{with .writes}}, writes of {{$.device}} took {{.}}{{end}}{{with .reads}}, reads of {{$.device}} took {{.}}{{end}}{{with .busy}}, and it was {{.}} busy with {{$.rate}} requests/s{{end}}.",
			"more":       "These are averages since the machine started: a stall does not show in them. To see one, record while it is slow.",
		},
		Advice: map[string]rules.Advice{"record": {
			Summary:  "Record while it is slow: S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log",
			Expect:   "when requests waited, and behind what",
			TradeOff: "none", NoCommand: "it is not a change"}},
	}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		if !c.SinceStart {
			return nil
		}

		below := c.JudgedBelow()
		var out []rules.Finding
		busiest, most := 0, 0.0
		for _, t := range c.Signal(rules.DiskBusy) {
			device := t.Labels.Get("device")
			if below[device] {
				continue
			}
			if f, ok := bootDevice(rule, c, device); ok {
				if waiting := timeline.Mean(c.For(rules.DiskQueue, "device", device)); waiting > most {
					busiest, most = len(out), waiting
				}
				out = append(out, f)
			}
		}

		// A host may have dozens: the verdict is about the busiest and those that are slow.
		for i := range out {
			if i != busiest && out[i].Severity == rules.Info {
				out[i].Asked.Opens = nil
			}
		}
		return out
	}

	return rule
}

func bootDevice(rule rules.Rule, input *rules.Case, device string) (rules.Finding, bool) {
	mean := func(s *rules.Signal) float64 { return timeline.Mean(input.For(s, "device", device)) }
	writes, reads := mean(rules.DiskWriteAwait), mean(rules.DiskReadAwait)
	busy, queue := mean(rules.DiskBusy), mean(rules.DiskQueue)
	said := rules.Values{"device": rules.Called(device), "busy": "", "writes": "", "reads": ""}

	rate, slow := 0.0, false
	for _, x := range []struct {
		name  string
		ops   *rules.Signal
		meanS float64
	}{{"writes", rules.DiskWrites, writes}, {"reads", rules.DiskReads, reads}} {
		// A handful of slow requests says nothing.
		if ops := mean(x.ops); ops > 0 {
			rate += ops
			if x.meanS > 0 && ops >= bootMinRate/2 {
				said[x.name] = rules.Seconds(x.meanS)
				slow = slow || x.meanS >= bootSlowS
			}
		}
	}

	if rate < bootMinRate || said["writes"] == "" && said["reads"] == "" {
		return rules.Finding{}, false
	}

	// An exporter's page does not say how long it has been counting.
	exact := input.Facts[sinceFact] == "boot"
	if exact {
		said["busy"], said["rate"] = rules.Part(busy), rules.Number(rate)
	}

	finding := rule.Finding(device)
	finding.Severity, finding.Weight = rules.Info, 0.3
	switch {
	case exact && busy >= bootBusy && queue >= bootQueue:
		finding.Severity = rules.Warning
		finding.Entitle("busy title", said)
	case slow:
		finding.Severity = rules.Warning
		finding.Entitle("slow title", said)
	}

	finding.Say("usual", said)
	finding.Open("usual", said)
	finding.Say("more", nil)
	finding.Advise("record", nil)

	for _, e := range []struct {
		what  string
		of    *rules.Signal
		value float64
		unit  string
	}{{"mean write latency since boot", rules.DiskWriteAwait, writes, "seconds"},
		{"mean read latency since boot", rules.DiskReadAwait, reads, "seconds"},
		{"requests in the queue since boot, mean", rules.DiskQueue, queue, ""}} {
		if !math.IsNaN(e.value) {
			finding.Evidence = append(finding.Evidence, input.Figure(e.what, e.of, e.value, e.unit, nil))
		}
	}

	return finding, true
}
