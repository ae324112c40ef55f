package corerules

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func clientsSlow() rules.Rule {
	r := rules.SymptomRule(rules.BenchSlow, "A benchmark's operations stall",
		"plimsoll:bench_operation_time:ratio / plimsoll:bench_operations:rate >= 0.1 and plimsoll:bench_operation_time:ratio >= 0.5",
		"The benchmark's clients measured how long their operations took, from request to answer. That includes the server's CPU, its locks and the network, not only its storage.")
	r.Needs = []*rules.Signal{rules.BenchOps, rules.BenchTime}
	r.NoAlert = "it judges benchmarks"
	return r
}

// slowestFactor is how many times the mean the slowest operation must have taken, and slowestFromS
// how long at least, to show that something held it up. Latencies of undisturbed operations spread
// over one or two orders of magnitude.
const (
	slowestFactor = 100
	slowestFromS  = 1.0
)

func clientsSlowest() rules.Rule {
	r := rules.Rule{ID: rules.BenchTotals, Title: "An operation of a benchmark took very long",
		Kind: rules.Symptom, Whole: true, Needs: []*rules.Signal{rules.BenchOps, rules.BenchTime},
		NoAlert: "it judges benchmarks",
		Cause:   "A mean over a whole run hides a stall of seconds. The slowest operation shows that there was one, but not when, how often or why.",
		Words: rules.Words{
			"slowest":    "The slowest of the {{.subject}} took {{.slowest}}, although the mean is {{.mean}}.",
			"even title": "How long a benchmark's operations took",
			"even":       "{{.subject}} took {{.mean}} on average over the whole run, the slowest {{.slowest}}.",
			"mean":       "{{.subject}} took {{.mean}} on average over the whole run; the report does not show the longest.",
			"when":       "The report has totals of the whole run, so when and how often that happened is unknown.",
			"why":        "Why is not measurable from this: record the server and its devices during the run.",
		},
		Advice: map[string]rules.Advice{"record": {
			Summary:  "Record the server and its host during the run, and let the benchmark report every second (sysbench --report-interval=1, pgbench -P 1, YCSB -s with status.interval=1)",
			Expect:   "the time of each stall, and what the device did then",
			TradeOff: "none", NoCommand: "it depends on the benchmark and the server"}},
	}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, t := range c.Signal(rules.BenchOps) {
			if f, ok := slowest(r, c, t); ok {
				out = append(out, f)
			}
		}
		return out
	}

	return r
}

// slowest judges one operation. If stalled time was found, it is reported instead.
func slowest(r rules.Rule, input *rules.Case, t timeline.Track) (rules.Finding, bool) {
	ops, waited := t.Values, input.SameAs(rules.BenchTime, t.Labels, rules.BenchBy...)
	if waited == nil || input.Stall.Any() {
		return rules.Finding{}, false
	}

	most := input.SameAs(rules.BenchMax, t.Labels, rules.BenchBy...)
	slowest, mean := timeline.Max(most), timeline.Sum(waited)/timeline.Sum(ops) // NaN if not reported
	long, total := slowest >= slowestFromS && slowest >= slowestFactor*mean, input.IsTotal(ops, waited)
	if !(mean > 0) || !long && !total {
		return rules.Finding{}, false
	}

	subject := t.Labels.Get("benchmark") + " " + rules.BenchNoun(t.Labels.Get)
	finding := r.Finding(subject)
	v := rules.Values{
		"subject": rules.Called(subject),
		"slowest": rules.Seconds(slowest),
		"mean":    rules.Seconds(mean),
	}

	if finding.Weight = 0.5; !long {
		finding.Severity = rules.Info
		words := "even"
		if most == nil {
			words = "mean"
		}
		finding.Entitle("even title", nil)
		finding.Say(words, v)
		finding.Open(words, v)
	} else {
		finding.Severity = rules.Warning
		finding.Say("slowest", v)
		finding.Open("slowest", v)
		if total {
			finding.Say("when", v)
		}
		finding.Say("why", v)
	}

	finding.Evidence = []rules.Evidence{
		input.Figure("mean latency", rules.BenchTime, mean, "seconds", timeline.Known(ops)),
	}
	if most != nil {
		finding.Evidence = append(finding.Evidence,
			input.Figure("slowest operation", rules.BenchMax, slowest, "seconds", timeline.Known(most)))
	}
	finding.Advise("record", nil)

	return finding, true
}
