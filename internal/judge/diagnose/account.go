package diagnose

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
	"plimsoll/internal/trace/wait"
)

// account says where the stalled time went. If the engine has wait counters, it divides the summed
// latency of the operations in the stalled episodes. Otherwise it divides the stalled wall-clock
// time by how long each condition held. A trace, if one ran, explains part of the remainder.
func account(c *rules.Case) []Share {
	if !c.Stall.Any() {
		return []Share{}
	}
	out, rest := accountCounted(c), c.Stall.Cells
	if out == nil {
		out, rest = accountWallClock(c)
	}
	return byTrace(c, out, rest)
}

// accountCounted divides the waiting by an engine's wait counters; nil if there are none.
func accountCounted(c *rules.Case) []Share {
	for _, e := range c.Pack.Engines() {
		if e.Account == nil {
			continue
		}
		if out := e.Account(c); out != nil {
			return out
		}
	}
	return nil
}

// accountWallClock divides the stalled time by the conditions that held. It also returns the cells
// that remain unexplained.
func accountWallClock(input *rules.Case) ([]Share, timeline.Mask) {
	of := input.Seconds(input.Stall.Cells)
	explained := make(timeline.Mask, input.Grid.N)
	var out []Share
	add := func(name string, m timeline.Mask) {
		if n := m.And(input.Stall.Cells); n.Count() > 0 {
			out = append(out, Share{Share: name, Seconds: input.Seconds(n), Of: of, Overlaps: true,
				Note:      wallClockNote,
				Otherwise: rules.Share(m, input.NotStalled())})
			explained = explained.Or(n)
		}
	}

	// Sessions by wait event divide the same time in another way.
	waited := 0.0
	for _, e := range input.Pack.Engines() {
		if e.Waited == nil {
			continue
		}
		for _, s := range e.Waited(input) {
			out, waited = append(out, s), waited+s.Seconds
		}
	}

	// Counters credit a wait when it ends, so a checkpoint also explains the cells next to it.
	for _, k := range input.Cycles() {
		add(duringCheckpoint, k.Cells.Widen(k.Before, k.After))
	}

	if sat, ok := input.Saturated(); ok {
		add("a device saturated", sat)
	}

	if full := input.One(rules.PSIIOFull); full != nil {
		add("all tasks waiting for I/O (PSI)", timeline.Where(full, func(x float64) bool { return x >= 0.5 }))
	}

	if mem := input.One(rules.PSIMemoryFull); mem != nil {
		add("all tasks waiting for memory (PSI)", timeline.Where(mem, func(x float64) bool { return x >= 0.5 }))
	}

	if cpu := input.One(rules.CPUBusy); cpu != nil {
		add("CPUs over 90 % busy", timeline.Where(cpu, func(x float64) bool { return x > 0.9 }))
	}

	// A log by itself has no conditions, so there is nothing to divide.
	if len(out) == 0 && input.Stall.Logged {
		return []Share{}, explained
	}

	// Conditions overlap, so the remainder is not the total minus their sum.
	rest := input.Stall.Cells.Without(explained)
	return append(out, Share{Share: unexplained, Seconds: max(0, min(input.Seconds(rest), of-waited)), Of: of,
		Note: "none of the above held"}), rest
}

const (
	unexplained      = "unexplained"
	duringCheckpoint = "during a checkpoint"
	wallClockNote    = "of the wall clock"
	byTraceNote      = "explained by measurement"
	// byTraceMost is how many of a trace's waits the accounting lists.
	byTraceMost = 4
)

// byTrace moves time from "unexplained", whose cells are rest, to the waits of slow calls that a
// trace explains.
func byTrace(c *rules.Case, all []Share, rest timeline.Mask) []Share {
	last := len(all) - 1
	t := c.Traced()
	if t == nil || last < 0 || all[last].Share != unexplained || all[last].Seconds <= 0 || t.Explained <= 0 {
		return all
	}

	// A trace covers only some calls: it explains the part of the remainder in which those waited.
	left := all[last]
	explained := left.Seconds * t.Covered(rest, c.Stall.Waiting)
	out := all[:last:last]

	sum, listed := 0.0, 0
	for _, w := range t.Waits {
		if w.Wait == wait.Unknown || listed == byTraceMost {
			continue
		}
		part := explained * w.Share / t.Explained
		out = append(out, Share{Share: "slow calls " + w.Text, Seconds: part, Of: left.Of, Note: byTraceNote})
		sum += part
		listed++
	}

	if more := explained - sum; more > 1e-9 {
		out = append(out, Share{Share: "slow calls, other waits", Seconds: more, Of: left.Of, Note: byTraceNote})
	}

	left.Seconds -= explained
	return append(out, left)
}
