package rules

import (
	"slices"

	"plimsoll/internal/record/timeline"
)

// Cycles are the engines' recurring bursts of writing in the recording.
func (c *Case) Cycles() []Cycle {
	var out []Cycle
	for _, e := range c.Pack.Engines() {
		if e.Cycle == nil {
			continue
		}
		if k, ok := e.Cycle(&c.Signals); ok {
			out = append(out, k)
		}
	}
	return out
}

// LogApart reports whether a log already has a separate device.
func (c *Case) LogApart() bool {
	return slices.ContainsFunc(c.Pack.Engines(),
		func(e Knowledge) bool { return e.Log.Apart != nil && e.Log.Apart(c) })
}

// BesideLog names what clients waited for in addition to the log; "" if unknown.
func (c *Case) BesideLog() Value {
	for _, e := range c.Pack.Engines() {
		if e.Log.AlsoWaited == nil {
			continue
		}
		if what := e.Log.AlsoWaited(c); what != "" {
			return Called(what)
		}
	}
	return ""
}

// LogLate reports whether an engine's log syncs miss its own criterion.
func (c *Case) LogLate() bool {
	return slices.ContainsFunc(c.Pack.Engines(),
		func(e Knowledge) bool { return e.Log.Late != nil && e.Log.Late(&c.Signals) })
}

// LogSyncing is the largest share of the cells in which a log's sync was in progress.
func (c *Case) LogSyncing(cells timeline.Mask) (share float64) {
	for _, e := range c.Pack.Engines() {
		if e.Log.Syncing == nil {
			continue
		}
		if in := timeline.Mean(timeline.At(e.Log.Syncing(&c.Signals), cells)); in > share {
			share = in
		}
	}
	return share
}
