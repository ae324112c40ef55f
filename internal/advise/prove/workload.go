package prove

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Tolerances within which two workloads count as the same.
const (
	rateTolerance = 0.10 // of the operations per second
	mixTolerance  = 0.05 // of the share of reads or inserts, absolute
	sizeTolerance = 0.20 // of the journal bytes per write
)

// sameWorkload compares the load of both sides.
func sameWorkload(before, after *side) Workload {
	load := Workload{Comparable: true, Checks: []Check{}}
	add := func(c Check, known bool) {
		if known {
			load.Checks = append(load.Checks, c)
			load.Comparable = load.Comparable && c.OK
		}
	}

	if x, y := databaseOf(before.c), databaseOf(after.c); x != "" && y != "" && x != y {
		add(Check{Name: "database", Text: fmt.Sprintf("%s before, %s after", x, y)}, true)
	}

	for _, of := range operations(before.c.Pack) {
		x, y := before.rate(before.operations(of)), after.rate(after.operations(of))
		// Use the first way that both sides support; the others would only repeat it.
		if !math.IsNaN(x) && !math.IsNaN(y) {
			add(relative("rate", "1/s", x, y, rateTolerance))
			break
		}
	}

	for _, of := range readsAndWrites(before.c.Pack) {
		x, y := before.share(of[0], of[1]), after.share(of[0], of[1])
		if !math.IsNaN(x) && !math.IsNaN(y) {
			add(absolute("share of reads", x, y))
			break
		}
	}

	for _, e := range before.c.Pack.Engines() {
		if k := e.Compared; k.Inserts != nil {
			add(absolute("share of inserts in writes", before.share(k.Inserts, k.Updates), after.share(k.Inserts, k.Updates)))
		}
		if k := e.Compared; k.Logged != nil {
			add(relative("journal bytes a write", "bytes", before.per(k.Logged, k.Writes.Rate),
				after.per(k.Logged, k.Writes.Rate), sizeTolerance))
		}
	}

	if before.cut.cycles && after.cut.cycles {
		add(cycles(before, after), true)
	}

	return load
}

// readsAndWrites returns the ways to distinguish reads from writes, the most exact first.
func readsAndWrites(pack *rules.Pack) [][2]*rules.Signal {
	out := [][2]*rules.Signal{{reads.rate, writes.rate}}
	for _, e := range pack.Engines() {
		if k := e.Compared; k.Reads.Rate != nil && k.Writes.Rate != nil {
			out = append(out, [2]*rules.Signal{k.Reads.Rate, k.Writes.Rate})
		}
	}
	return out
}

// cycles checks that both recordings cover enough whole checkpoint cycles.
func cycles(a, b *side) Check {
	x, y := float64(a.cut.n), float64(b.cut.n)
	return Check{
		Name: "whole checkpoint cycles", Before: &x, After: &y, OK: a.cut.n >= unitsMin && b.cut.n >= unitsMin,
		Text: fmt.Sprintf("%d before, %d after (at least %d each)", a.cut.n, b.cut.n, unitsMin),
	}
}

func databaseOf(c *rules.Case) string {
	if len(c.Engines) == 1 {
		return c.Engines[0]
	}
	return ""
}

// rate returns the mean of a signal over the units.
func (s *side) rate(values []float64) float64 {
	if values == nil || !s.cut.known(values) {
		return math.NaN()
	}
	return newQuotient(s.cut, values, ones(len(values))).estimate(once(s.cut.n))
}

// share returns one rate divided by the sum of both.
func (s *side) share(one, other *rules.Signal) float64 {
	x, y := s.rate(s.one(one)), s.rate(s.one(other))
	if !(x+y > 0) {
		return math.NaN()
	}
	return x / (x + y)
}

// per returns one rate divided by another.
func (s *side) per(num, den *rules.Signal) float64 {
	x, y := s.rate(s.one(num)), s.rate(s.one(den))
	if !(y > 0) || !(x > 0) {
		return math.NaN()
	}
	return x / y
}

func relative(name, unit string, x, y, tolerance float64) (Check, bool) {
	c := Check{Name: name, Before: finite(x), After: finite(y), Unit: unit, Tolerance: tolerance}
	c.OK = math.Abs(y-x) <= tolerance*max(x, y)
	c.Text = fmt.Sprintf("%s before, %s after (tolerance %s)", units.Value(x, unit), units.Value(y, unit),
		units.Percent(tolerance))
	return c, c.Before != nil && c.After != nil
}

func absolute(name string, x, y float64) (Check, bool) {
	c := Check{Name: name, Before: finite(x), After: finite(y), Unit: "ratio", Tolerance: mixTolerance,
		OK: math.Abs(y-x) <= mixTolerance}
	c.Text = fmt.Sprintf("%s before, %s after (tolerance %.0f points)", units.Percent(x), units.Percent(y),
		100*mixTolerance)
	return c, c.Before != nil && c.After != nil
}

// warn adds warnings about the comparison.
func (r *Report) warn(before, after *side) {
	for _, c := range r.Workload.Checks {
		if !c.OK {
			r.Warnings = append(r.Warnings, "not comparable: "+c.Name+": "+c.Text)
		}
	}

	// Without any check, Comparable is true only for lack of evidence.
	if len(r.Workload.Checks) == 0 {
		r.Warnings = append(
			r.Warnings, "neither recording shows its load: make sure that the workload was the same")
	}

	for _, x := range []*side{before, after} {
		for _, note := range x.left {
			r.Warnings = append(r.Warnings, x.word+": "+note)
		}
	}

	if x, y := hosts(before), hosts(after); len(x) > 0 && len(y) > 0 &&
		!slices.ContainsFunc(x, func(h string) bool { return slices.Contains(y, h) }) {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("the hosts differ: %s before, %s after; differences between the hosts count as part of the change",
				strings.Join(x, ", "), strings.Join(y, ", ")))
	}

	if before.cut.cycles != after.cut.cycles {
		have, not := before, after
		if after.cut.cycles {
			have, not = after, before
		}
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("the recording %s shows fewer than two checkpoints; it is cut into pieces of %s, the length of the cycles %s",
				not.word, units.Seconds(have.cut.usual*have.c.Grid.StepSeconds()), have.word))
	}

	if before.device != after.device && before.device != "" && after.device != "" {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("the device figures are those of %s before and of %s after", before.device, after.device))
	}

	if x, y := before.c.Stall, after.c.Stall; x.Rule != "" && y.Rule != "" && x.Rule != y.Rule {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("stalled time is judged by %s before and by %s after", x.Subject, y.Subject))
	}

	for _, s := range []*side{before, after} {
		// Gaps may hide the very stalls that are compared.
		if n := timeline.Count(s.measuredOperations()); n > 0 && n < s.c.Grid.N*9/10 {
			r.Warnings = append(r.Warnings,
				fmt.Sprintf("%s of the recording %s is missing", units.Percent(1-float64(n)/float64(s.c.Grid.N)), s.word))
		}
	}
}

// hosts returns the host names in a side's sources and labels, sorted; nil if there are none.
func hosts(s *side) []string {
	var out []string
	if s.host != "" {
		out = append(out, s.host)
	}
	for _, src := range diagnose.Describe(s.in) {
		if src.Host != "" && !slices.Contains(out, src.Host) {
			out = append(out, src.Host)
		}
	}
	slices.Sort(out)
	return out
}

func (s *side) measuredOperations() []float64 {
	for _, of := range operations(s.c.Pack) {
		if x := s.operations(of); x != nil {
			return x
		}
	}
	return nil
}
