package rules

import "plimsoll/internal/record/timeline"

const (
	// shiftsMost bounds the number of shifts that are tried, evenly spaced: enough to resolve a
	// probability of 0.1 %.
	shiftsMost = 2_000
	// sameAlignment is the share of the stalled time that still overlaps itself after a shift,
	// above which the shift does not count as a different alignment: it is a shift by a cell or
	// two, or by a period of recurring stalls.
	sameAlignment = 0.75
)

// Coincidence is the probability that a condition covers as much of the stalled time as it does if
// the two are independent. It is counted, without a model of either: the condition is shifted in
// time against the stalls, wrapping around at the end of the recording, and each different
// alignment that covers as much counts. Shifting preserves the lengths and distances of both, so a
// stall of many cells is one event, and so is a burst. Only time under load counts: a quiet night
// has neither.
func (st *Stalls) Coincidence(condition timeline.Mask) float64 {
	intervals := st.Stall.AsSampled()
	var held, stalled timeline.Mask
	for k, active := range st.Stall.Active {
		other := k < len(st.Others) && st.Others[k]
		if active || other {
			held, stalled = append(held, condition[k]), append(stalled, intervals[k] || other)
		}
	}

	n := len(held)
	if n < 2 {
		return 1
	}

	// Prefix sums make the cost of each shift proportional to the number of episodes, not of cells.
	heldBefore, stalledBefore := countsBefore(held), countsBefore(stalled)
	episodes := stalled.Episodes()
	covered := func(before []int, shift int) (cells int) {
		for _, e := range episodes {
			cells += before[e.Last+1+shift] - before[e.First+shift]
		}
		return cells
	}

	observed, all := covered(heldBefore, 0), stalled.Count()
	if observed == 0 {
		return 1
	}

	// The original position is not among the shifts.
	every := (n + shiftsMost - 1) / shiftsMost
	matches, tried := 0, 0
	for shift := every; shift < n; shift += every {
		tried++
		if covered(heldBefore, shift) >= observed &&
			float64(covered(stalledBefore, shift)) < sameAlignment*float64(all) {
			matches++
		}
	}

	return float64(matches) / float64(max(tried, 1))
}

// leastIntervals is how many intervals under load it takes to show whether two things coincide, if
// stalls are known only per interval. With fewer, any two often do.
const leastIntervals = 10

// fewIntervals reports whether too few long intervals were recorded for a coincidence to mean anything.
func (c *Case) fewIntervals() bool {
	return c.Stall.PeriodS >= CoarseFromS && c.Seconds(c.Stall.Active) < leastIntervals*c.Stall.PeriodS
}

// Unsure downgrades a critical finding whose condition may well coincide with a database's stalls
// by chance.
func (c *Case) Unsure(f *Finding, condition timeline.Mask) {
	if f.Severity == Critical && c.byChance(condition, coincidenceSure) {
		f.Severity = Warning
	}
}

// Unrelated reports whether a condition covers no more of a database's stalled time than it would
// by chance, so that it is not a cause. It does not apply to stalls of devices, which are measured
// at the device itself.
func (c *Case) Unrelated(condition timeline.Mask) bool { return c.byChance(condition, coincidenceMost) }

// byChance reports whether a coincidence is more probable than the limit, both in the exact cells
// and together with their neighbours, because a wait may be credited to the next cell. Each of the
// two tests gets half of the probability.
func (c *Case) byChance(condition timeline.Mask, most float64) bool {
	return c.Stall.IsDatabase && c.Stall.Any() && c.Comparable(condition) &&
		c.Coincidence(condition) > most/2 && c.Coincidence(condition.Widen(1, 1)) > most/2
}

// countsBefore returns how many cells of a mask precede each cell, for two rounds of the mask, so
// that a shift can wrap around.
func countsBefore(m timeline.Mask) []int {
	out := make([]int, 2*len(m)+1)
	for k := range 2 * len(m) {
		out[k+1] = out[k]
		if m[k%len(m)] {
			out[k+1]++
		}
	}
	return out
}
