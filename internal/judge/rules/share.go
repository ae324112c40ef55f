package rules

import "plimsoll/internal/record/timeline"

// WaitShare is the share of the stalled waiting time that a wait counter (seconds credited per
// second) accounts for, with both sums. Operations are credited when they end, and so are the waits
// within them. So the sums cover whole episodes and a cell on either side; they are never compared
// second by second.
func (c *Case) WaitShare(signal *Signal) (share, seconds, of float64, ok bool) {
	wait := c.One(signal)
	if wait == nil || c.Stall.Waiting == nil || !c.Stall.Any() {
		return 0, 0, 0, false
	}
	around := c.Stall.Cells.Widen(1, 1)
	step := c.Grid.StepSeconds()
	seconds = timeline.Sum(timeline.At(wait, around)) * step
	of = timeline.Sum(timeline.At(c.Stall.Waiting, around)) * step
	if of <= 0 {
		return 0, 0, 0, false
	}
	return min(1, seconds/of), seconds, of, true
}

// Attributable is the share of the stalled cells that would not have stalled without the condition,
// if cells with and without it differ in nothing else. It is the population attributable fraction
// of epidemiology, coverage x (1 - pOut/pIn), where pIn and pOut are the shares of cells that
// stalled with and without the condition. Only time under load counts: otherwise idle time would
// make any condition that occurs under load look guilty.
func (st *Stalls) Attributable(condition timeline.Mask) (fraction, pIn, pOut float64) {
	active := st.Stall.Active
	in, out := active.And(condition), active.Without(condition)
	pIn, pOut = Share(st.Stall.Cells, in), Share(st.Stall.Cells, out)
	if pIn <= pOut || pIn == 0 {
		return 0, pIn, pOut
	}
	return Share(condition, st.Stall.Cells) * (1 - pOut/pIn), pIn, pOut
}

// Saturated marks where any device is never idle and has requests queued.
func (sig *Signals) Saturated() (m timeline.Mask, measured bool) {
	m = make(timeline.Mask, sig.Grid.N)
	for _, t := range sig.Signal(DiskBusy) {
		if full, ok := sig.saturated(t); ok {
			m, measured = m.Or(full), true
		}
	}
	return m, measured
}

// saturated marks where the device of a track of DiskBusy is; false if its queue is not measured.
func (sig *Signals) saturated(busy timeline.Track) (timeline.Mask, bool) {
	q := sig.For(DiskQueue, "device", busy.Labels.Get("device"))
	if q == nil {
		return make(timeline.Mask, sig.Grid.N), false
	}
	return timeline.Where(busy.Values, func(x float64) bool { return x > 0.9 }).
		And(timeline.Where(q, func(x float64) bool { return x > 2 })), true
}

// MostWritten is the bytes per second written to the device that wrote most in the cells. A stripe,
// its partitions and its members all count the same bytes, so a sum over devices would count them
// twice.
func (sig *Signals) MostWritten(in timeline.Mask) []float64 {
	var best []float64
	most := -1.0
	for _, t := range sig.Signal(DiskWritten) {
		if s := timeline.Sum(timeline.At(t.Values, in)); s > most {
			best, most = t.Values, s
		}
	}
	return best
}
