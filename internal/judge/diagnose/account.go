package diagnose

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// account says where the stalled time went. An engine may tell the waiting of its operations
// by wait counters; then the whole is the operations' summed latency over the
// stalled episodes. Otherwise the whole is the stalled wall-clock time, and the
// shares are how much of it each condition held.
func account(c *rules.Case) []Share {
	if !c.Stall.Any() {
		return []Share{}
	}
	for _, e := range c.Pack.Engines() {
		if e.Account == nil {
			continue
		}
		if out := e.Account(c); out != nil {
			return out
		}
	}
	return accountWallClock(c)
}

func accountWallClock(c *rules.Case) []Share {
	of := c.Seconds(c.Stall.Cells)
	explained := make(timeline.Mask, c.Grid.N)
	var out []Share
	add := func(name string, m timeline.Mask) {
		if n := m.And(c.Stall.Cells); n.Count() > 0 {
			out = append(out, Share{Share: name, Seconds: c.Seconds(n), Of: of, Overlaps: true, Note: "of the wall clock"})
			explained = explained.Or(n)
		}
	}
	for _, k := range c.Cycles() {
		add("during a checkpoint", k.Cells.Widen(k.Before, k.After))
	}
	if sat, ok := c.Saturated(); ok {
		add("a device saturated", sat)
	}
	if full := c.One(rules.PSIIOFull); full != nil {
		add("all tasks waiting for I/O (PSI)", timeline.Where(full, func(x float64) bool { return x >= 0.5 }))
	}
	if mem := c.One(rules.PSIMemoryFull); mem != nil {
		add("all tasks waiting for memory (PSI)", timeline.Where(mem, func(x float64) bool { return x >= 0.5 }))
	}
	if cpu := c.One(rules.CPUBusy); cpu != nil {
		add("CPUs over 90 % busy", timeline.Where(cpu, func(x float64) bool { return x > 0.9 }))
	}
	rest := c.Stall.Cells.Without(explained)
	return append(out, Share{Share: "unexplained", Seconds: c.Seconds(rest), Of: of, Note: "none of the above held"})
}
