package rules

import "plimsoll/internal/record/timeline"

// WaitShare is the share of the stalled waiting time that a wait counter (seconds credited per
// second) accounts for, with both totals. seconds never exceeds of.
//
// Operations are credited when they end, and so are the waits within them. So the sums cover whole
// episodes and a cell on either side; they are never compared second by second. The counter's
// growth in calm time is subtracted: steady readers and background threads wait as much without any
// stall.
//
// If a counter includes operations other than the stalled ones, pass what those waited in total
// (also seconds per second) as others. The rise is then divided in proportion.
func (c *Case) WaitShare(signal *Signal, others ...*Signal) (share, seconds, of float64, ok bool) {
	around, of, ok := c.stalledWaiting(signal)
	if !ok {
		return 0, 0, 0, false
	}

	// Every kind of operation in the counter shares its rise in proportion to its own waiting.
	all := of
	for _, o := range others {
		all += c.rise(c.One(o), nil, around)
	}
	share = min(1, c.rise(c.One(signal), nil, around)/all)
	return share, share * of, of, true
}

// WaitShareOfOwn is the same for a counter that includes only the stalled operations. The usual
// wait is then per operation: if few operations complete, little waiting is usual.
func (c *Case) WaitShareOfOwn(signal *Signal) (share, seconds, of float64, ok bool) {
	around, of, ok := c.stalledWaiting(signal)
	if !ok {
		return 0, 0, 0, false
	}
	share = min(1, c.rise(c.One(signal), c.Stall.Ops, around)/of)
	return share, share * of, of, true
}

// stalledWaiting is how long the stalled operations waited, and the cells in which this was
// credited; false if that or the counter was not measured.
func (c *Case) stalledWaiting(counter *Signal) (around timeline.Mask, seconds float64, ok bool) {
	if c.One(counter) == nil || c.Stall.Waiting == nil || !c.Stall.Any() {
		return nil, 0, false
	}
	around = c.Stall.Cells.Widen(1, 1)
	seconds = timeline.Sum(timeline.At(c.Stall.Waiting, around)) * c.Grid.StepSeconds()
	return around, seconds, seconds > 0
}

// rise is by how much a counter's growth in the cells (per second) exceeds the usual: in calm time
// of the same length or, with ops, over the same number of calm operations. Calm is the time under
// load away from any stall. Without any calm time the whole growth counts.
func (c *Case) rise(rate, ops []float64, cells timeline.Mask) float64 {
	var calm timeline.Mask
	for apart := calmApart; apart >= 0; apart-- {
		calm = c.Stall.Active.Without(c.Stall.Cells.Widen(apart, apart))
		if timeline.Count(timeline.At(rate, calm)) >= leastCalmCells {
			break
		}
	}

	per := func(m timeline.Mask) float64 {
		if ops != nil {
			return timeline.Sum(timeline.At(ops, m))
		}
		return float64(timeline.Count(timeline.At(rate, m)))
	}

	// Subtract the growth that calm time of the same length, or as many operations, would have had.
	grown := timeline.Sum(timeline.At(rate, cells))
	if n := per(calm); n > 0 {
		grown -= timeline.Sum(timeline.At(rate, calm)) / n * per(cells)
	}

	// With hardly any calm operations, the usual growth during the stall is unknown (Inf x 0).
	if !(grown > 0) {
		return 0
	}
	return grown * c.Grid.StepSeconds()
}

// Cells this close to a stall may be credited with its waits. If little time is further away, closer
// cells have to do.
const (
	calmApart      = 2
	leastCalmCells = 5
)

// Attributable is the share of the stalled cells that would not have stalled without the condition,
// if cells with and without it differ in nothing else. It is the population attributable fraction
// from epidemiology, coverage x (1 - pOut/pIn), where pIn and pOut are the shares of cells that
// stalled with and without the condition. Only time under load counts: otherwise idle time would make any
// condition that occurs under load look like a cause.
func (st *Stalls) Attributable(condition timeline.Mask) (fraction, pIn, pOut float64) {
	fraction, pIn, pOut = st.attributable(condition, st.Stall.Cells)
	if st.Stall.Intervals == nil {
		return fraction, pIn, pOut
	}
	// A condition that is only known per interval is compared with intervals.
	if f, in, out := st.attributable(condition, st.Stall.Intervals); f > fraction {
		return f, in, out
	}
	return fraction, pIn, pOut
}

func (st *Stalls) attributable(condition, stalled timeline.Mask) (fraction, pIn, pOut float64) {
	active := st.Stall.Active
	in, out := active.And(condition), active.Without(condition)
	pIn, pOut = Share(stalled, in), Share(stalled, out)
	if pIn <= pOut || pIn == 0 {
		return 0, pIn, pOut
	}
	return Share(condition, stalled) * (1 - pOut/pIn), pIn, pOut
}

// Saturated marks the cells in which any device is never idle and has requests queued.
func (sig *Signals) Saturated() (m timeline.Mask, measured bool) {
	m = make(timeline.Mask, sig.Grid.N)
	for _, t := range sig.Signal(DiskBusy) {
		if full, ok := sig.SaturatedDevice(t.Labels.Get("device")); ok {
			m, measured = m.Or(full), true
		}
	}
	return m, measured
}

// SaturatedDevice does the same for one device; false if its busy share or its queue is not measured.
func (sig *Signals) SaturatedDevice(device string) (timeline.Mask, bool) {
	busy, queue := sig.For(DiskBusy, "device", device), sig.For(DiskQueue, "device", device)
	if busy == nil || queue == nil {
		return make(timeline.Mask, sig.Grid.N), false
	}
	return timeline.Where(busy, func(x float64) bool { return x > SaturatedBusy }).
		And(timeline.Where(queue, func(x float64) bool { return x > SaturatedQueue })), true
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
