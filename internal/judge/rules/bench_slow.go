package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// Signals of a benchmark's clients (package record/benchmark).
var (
	benchBy  = []string{"benchmark", "operation", "kind"}
	BenchOps = core.Add(Signal{Name: SignalPrefix + "bench_operations:rate", Unit: "1/s",
		Help: "operations per second that ended, as a benchmark's clients counted them", By: benchBy,
		Exprs: []string{`sum by (benchmark, operation, kind) (irate(bench_operations_total[$w]))`}})
	BenchTime = core.Add(Signal{Name: SignalPrefix + "bench_operation_time:ratio", Unit: "s/s",
		Help: "seconds of a benchmark's latency credited per second", By: benchBy,
		Exprs: []string{`sum by (benchmark, operation, kind) (irate(bench_operation_seconds_total[$w]))`}})
	BenchWaiting = core.Add(Signal{Name: SignalPrefix + "bench_operations_waiting:count", Unit: "",
		Help: "operations of a benchmark in progress", By: benchBy,
		Exprs: []string{`sum by (benchmark, operation, kind) (bench_operations_waiting)`}})
	BenchMax = core.Add(Signal{Name: SignalPrefix + "bench_operation_max:seconds", Unit: "seconds",
		Help: "the slowest operation of a benchmark in an interval", By: benchBy,
		Exprs: []string{`max by (benchmark, operation, kind) (bench_operation_max_seconds)`}})
)

// BenchFelt are the signals that [BenchStalls] reads.
var BenchFelt = []*Signal{BenchOps, BenchTime, BenchWaiting}

const benchSlow = "clients/slow-operations"

// BenchTotals is the rule about the slowest operation, which is all that the totals of a run show.
const BenchTotals = "clients/slowest-operation"

// benchClasses are the classes of the kinds of operations.
var benchClasses = map[string]Class{"read": Reading, "write": Writing, "transaction": Committing}

// benchNoun names an operation in the plural: "UPDATE writes", "transactions".
func benchNoun(get func(label string) string) string {
	switch kind := get("kind"); kind {
	case "read", "write":
		return get("operation") + " " + kind + "s"
	}
	return get("operation")
}

// BenchStalls finds stalled time in the latencies of a benchmark's clients. A benchmark sends the next
// operation when the last one has ended, so its usual latency follows from the number of its clients.
// Only a latency far from the usual one is a stall.
func BenchStalls(sig *Signals) []Stall {
	var out []Stall
	for i, t := range sig.Signal(BenchOps) {
		kind := t.Labels.Get("kind")
		s := Stall{Rule: benchSlow, Subject: t.Labels.Get("benchmark") + " " + benchNoun(t.Labels.Get),
			Class: benchClasses[kind], IsDatabase: true,
			Foremost: kind != "read", Aside: kind == "read" && i > 0, Ops: t.Values,
			Of: []*Signal{BenchOps, BenchTime}}
		s.Waiting, s.Queued = sig.sameAs(BenchTime, t.Labels.Get, benchBy), sig.sameAs(BenchWaiting,
			t.Labels.Get, benchBy)

		// A single interval is the whole run: there is no usual latency to compare with.
		if sig.isTotal(t.Values, s.Waiting) {
			continue
		}
		if found, ok := ByUsual(sig.Time, StallFloorS, s); ok {
			out = append(out, found)
		}
	}
	return out
}

// isTotal reports whether a benchmark's figures cover its whole run, so that nothing shows when
// something happened.
func (sig *Signals) isTotal(ops, waited []float64) bool {
	known := timeline.Known(ops)
	if sig.ResolutionS(BenchOps) >= sig.Seconds(known) {
		return true
	}
	// The only interval of a run may lie across two cells of its length, with the same rates in both.
	return known.Count() == 2 && even(ops) && even(waited)
}

// even reports whether all known values are the same but for rounding.
func even(values []float64) bool {
	const rounding = 1e-6
	least := math.Inf(1)
	for _, x := range values {
		if !math.IsNaN(x) {
			least = min(least, x)
		}
	}
	return timeline.Max(values) <= least*(1+rounding)
}

// sameAs returns the values of a signal's track with the same labels; nil if there is none.
func (sig *Signals) sameAs(s *Signal, get func(label string) string, by []string) []float64 {
	for _, t := range sig.Signal(s) {
		same := true
		for _, label := range by {
			same = same && t.Labels.Get(label) == get(label)
		}
		if same {
			return t.Values
		}
	}
	return nil
}

func clientsSlow() Rule {
	r := SymptomRule(benchSlow, "A benchmark's operations stall",
		"plimsoll:bench_operation_time:ratio / plimsoll:bench_operations:rate >= 0.1 and plimsoll:bench_operation_time:ratio >= 0.5",
		"The benchmark's clients measured how long their operations took, from sending one to its answer. That includes the server's CPU, its locks and the network, not only its storage.")
	r.Needs = []*Signal{BenchOps, BenchTime}
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

func clientsSlowest() Rule {
	r := Rule{ID: BenchTotals, Title: "An operation of a benchmark took very long",
		Kind: Symptom, Whole: true, Needs: []*Signal{BenchOps, BenchTime},
		NoAlert: "it judges benchmarks",
		Cause:   "A mean over a whole run hides a stall of seconds. The slowest operation shows that there was one, but not when, how often or why.",
		Words: Words{
			"slowest":    "The slowest of the {{.subject}} took {{.slowest}}, although the mean is {{.mean}}.",
			"even title": "How long a benchmark's operations took",
			"even":       "{{.subject}} took {{.mean}} on average over the whole run, the slowest {{.slowest}}.",
			"mean":       "{{.subject}} took {{.mean}} on average over the whole run; the report has no longest.",
			"when":       "The report has totals of the whole run, so when and how often that happened is unknown.",
			"why":        "Why is not measurable from this: record the server and its devices during the run.",
		},
		Advice: map[string]Advice{"record": {
			Summary:  "Record the server and its host during the run, and let the benchmark report every second (sysbench --report-interval=1, pgbench -P 1, YCSB -s with status.interval=1)",
			Expect:   "the time of each stall, and what the device did then",
			TradeOff: "none", NoCommand: "it depends on the benchmark and the server"}},
	}

	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		var out []Finding
		for _, t := range c.Signal(BenchOps) {
			if f, ok := r.slowest(c, t); ok {
				out = append(out, f)
			}
		}
		return out
	}

	return r
}

// slowest judges one operation. Stalled time that was found says more than its longest operation.
func (r Rule) slowest(c *Case, t timeline.Track) (Finding, bool) {
	ops, waited := t.Values, c.sameAs(BenchTime, t.Labels.Get, benchBy)
	if waited == nil || c.Stall.Any() {
		return Finding{}, false
	}

	most := c.sameAs(BenchMax, t.Labels.Get, benchBy)
	slowest, mean := timeline.Max(most), timeline.Sum(waited)/timeline.Sum(ops) // NaN if not reported
	long, total := slowest >= slowestFromS && slowest >= slowestFactor*mean, c.isTotal(ops, waited)
	if !(mean > 0) || !long && !total {
		return Finding{}, false
	}

	subject := t.Labels.Get("benchmark") + " " + benchNoun(t.Labels.Get)
	f := r.Finding(subject)
	v := Values{"subject": Called(subject), "slowest": Seconds(slowest), "mean": Seconds(mean)}

	if f.Weight = 0.5; !long {
		f.Severity = Info
		words := "even"
		if most == nil {
			words = "mean"
		}
		f.Entitle("even title", nil)
		f.Say(words, v)
		f.Open(words, v)
	} else {
		f.Severity = Warning
		f.Say("slowest", v)
		f.Open("slowest", v)
		if total {
			f.Say("when", v)
		}
		f.Say("why", v)
	}

	f.Evidence = []Evidence{c.Figure("mean latency", BenchTime, mean, "seconds", timeline.Known(ops))}
	if most != nil {
		f.Evidence = append(f.Evidence,
			c.Figure("slowest operation", BenchMax, slowest, "seconds", timeline.Known(most)))
	}
	f.Advise("record", nil)

	return f, true
}
