package rules

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// mostlyInCycle is the share of a device's slow time within an engine's cycles, above which the
// cycles are the reason. slowInCycle is the share of the cycles' time in which it is slow, above
// which they are one reason, if that is more than chance.
const (
	mostlyInCycle = 0.5
	slowInCycle   = 0.4
)

// sayInCycle adds to a device's symptom that it is slow while an engine writes its checkpoints,
// which is the main thing to know if no client stalls.
func (c *Case) sayInCycle(f *Finding, s Stall) {
	for _, k := range c.Cycles() {
		near := k.Cells.Widen(k.Before, k.After)
		of := Stalls{Time: c.Time, Stall: s}

		// near includes the cells around a cycle, to which counters may credit its writes.
		share := Share(near, s.Cells)
		if _, in, out := of.Attributable(near); share < mostlyInCycle && in < slowInCycle || in < StallRatio*out ||
			!of.Contrasts(near) {
			continue
		}

		all := k.Cells.Episodes()
		slow, longest := 0, 0.0
		for _, e := range all {
			if s.Cells.And(timeline.MaskOf(c.Grid.N, []timeline.Episode{e}).Widen(k.Before, k.After)).Count() > 0 {
				slow++
				longest = max(longest, k.tookS(c.Time, e))
			}
		}

		worst := timeline.Top(Within(s.Latency, s.Cells.And(near)), 1).Episodes()
		if len(worst) == 0 {
			continue
		}

		v := Values{"device": Called(s.Subject), "share": Part(share), "slow": Value(units.Count(int64(slow))),
			"all":     Things(len(all), "checkpoint"),
			"longest": Seconds(longest), "at": Value(c.Grid.Start(worst[0].First).UTC().Format(time.TimeOnly))}
		f.Say("in cycle", v)
		if share >= mostlyInCycle && c.Stall.IsDatabase && !c.Stall.Any() {
			f.Close("in cycle headline", v)
		}

		return
	}
}

// tookS is how long a cycle took in seconds: its credited time, otherwise the time in which it ran.
func (k Cycle) tookS(t Time, e timeline.Episode) float64 {
	step := t.Grid.StepSeconds()
	took := float64(e.Cells()) * step
	if k.Took == nil {
		return took
	}
	if credited := timeline.Sum(k.Took[e.First:e.Last+1]) * step; credited > 0 {
		return credited
	}
	return took
}
