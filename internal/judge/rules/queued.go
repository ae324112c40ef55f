package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// A stall shorter than two samples never fills a sample. Its queue shows as a burst in the cell in
// which the stall began or, because operations are credited when they end, in the cell before.
const (
	ShortStallCells = 2
	BurstQueue      = 4.0 // times the device's usual queue
	burstBusy       = 0.5 // of the cell
)

// QueuedShare is the share of the cells in which requests queued at a device: it was saturated or,
// in a run of two cells or fewer, its queue had a burst.
func (c *Case) QueuedShare(in timeline.Mask) (share float64, measured bool) {
	queued, measured := c.Saturated()
	if !measured {
		return 0, false
	}

	// If stalls are only known per minute, the shortest stall is a minute.
	full, burst := queued, c.QueueBursts()
	short := ShortStallCells
	if sampled := int(math.Round(c.Stall.PeriodS / c.Grid.StepSeconds())); sampled > short {
		short, burst = sampled, burst.Or(full)
	}

	for _, e := range in.Episodes() {
		if short == ShortStallCells && e.Cells() > short {
			continue
		}
		// Test each short part separately, so that one burst does not explain a long stretch.
		for first := e.First; first <= e.Last; first += short {
			part := timeline.Episode{First: first, Last: min(first+short-1, e.Last)}
			if burst[max(0, part.First-1):part.Last+1].Count() > 0 {
				queued = queued.Or(timeline.MaskOf(c.Grid.N, []timeline.Episode{part}))
			}
		}
	}

	return Share(queued, in), true
}

// Coarsest is the longer of the sampling periods of the stalls and of a device's signal, in
// seconds.
func (c *Case) Coarsest(of *Signal) float64 { return max(c.Stall.PeriodS, c.ResolutionS(of)) }

// QueueBursts marks the cells in which some device's queue is far longer than usual and the device
// is busy for much of the cell.
func (c *Case) QueueBursts() timeline.Mask {
	m := make(timeline.Mask, c.Grid.N)
	for _, t := range c.Signal(DiskBusy) {
		q := c.For(DiskQueue, "device", t.Labels.Get("device"))
		usual := timeline.Quantile(timeline.At(q, c.Stall.Active), 0.5)
		if q == nil || math.IsNaN(usual) {
			continue
		}
		least := max(2, BurstQueue*usual)
		m = m.Or(timeline.Where(t.Values, func(x float64) bool { return x >= burstBusy }).
			And(timeline.Where(q, func(x float64) bool { return x >= least })))
	}
	return m
}
