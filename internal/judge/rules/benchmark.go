package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// Signals of a benchmark's clients (package record/benchmark).
var (
	BenchBy  = []string{"benchmark", "operation", "kind"}
	BenchOps = core.Add(Signal{Name: SignalPrefix + "bench_operations:rate", Unit: "1/s",
		Help: "operations per second that ended, as a benchmark's clients counted them", By: BenchBy,
		Exprs: []string{`sum by (benchmark, operation, kind) (irate(bench_operations_total[$w]))`}})
	BenchTime = core.Add(Signal{Name: SignalPrefix + "bench_operation_time:ratio", Unit: "s/s",
		Help: "seconds of a benchmark's latency credited per second", By: BenchBy,
		Exprs: []string{`sum by (benchmark, operation, kind) (irate(bench_operation_seconds_total[$w]))`}})
	BenchWaiting = core.Add(Signal{Name: SignalPrefix + "bench_operations_waiting:count", Unit: "",
		Help: "operations of a benchmark in progress", By: BenchBy,
		Exprs: []string{`sum by (benchmark, operation, kind) (bench_operations_waiting)`}})
	BenchMax = core.Add(Signal{Name: SignalPrefix + "bench_operation_max:seconds", Unit: "seconds",
		Help: "the slowest operation of a benchmark in an interval", By: BenchBy,
		Exprs: []string{`max by (benchmark, operation, kind) (bench_operation_max_seconds)`}})
)

// BenchFelt are the signals that [BenchStalls] reads.
var BenchFelt = []*Signal{BenchOps, BenchTime, BenchWaiting}

// BenchSlow is the rule about a benchmark's own slow operations.
const BenchSlow = "clients/slow-operations"

// BenchTotals is the rule about the slowest operation, which is all that the totals of a run show.
const BenchTotals = "clients/slowest-operation"

// benchClasses are the classes of the kinds of operations.
var benchClasses = map[string]Class{"read": Reading, "write": Writing, "transaction": Committing}

// BenchNoun names an operation in the plural: "UPDATE writes", "transactions".
func BenchNoun(get func(label string) string) string {
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
		s := Stall{Rule: BenchSlow, Subject: t.Labels.Get("benchmark") + " " + BenchNoun(t.Labels.Get),
			Class: benchClasses[kind], IsDatabase: true,
			Foremost: kind != "read", Aside: kind == "read" && i > 0, Ops: t.Values,
			Of: []*Signal{BenchOps, BenchTime}}
		s.Waiting = sig.SameAs(BenchTime, t.Labels, BenchBy...)
		s.Queued = sig.SameAs(BenchWaiting, t.Labels, BenchBy...)

		// A single interval is the whole run: there is no usual latency to compare with.
		if sig.IsTotal(t.Values, s.Waiting) {
			continue
		}
		if found, ok := ByUsual(sig.Time, StallFloorS, s); ok {
			out = append(out, found)
		}
	}
	return out
}

// IsTotal reports whether a benchmark's figures cover its whole run, so that nothing shows when
// something happened.
func (sig *Signals) IsTotal(ops, waited []float64) bool {
	known := timeline.Known(ops)
	if sig.ResolutionS(BenchOps) >= sig.Seconds(known) {
		return true
	}
	// The only interval of a run may span two cells of its length, with the same rates in both.
	return known.Count() == 2 && even(ops) && even(waited)
}

// even reports whether all known values are equal, except for rounding.
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
