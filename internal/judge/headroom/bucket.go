package headroom

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A bucket holds credits: use above the refill rate drains it.
type bucket struct {
	capacity float64
	// net is use minus refill, per second, in each cell; NaN if use was not measured.
	net []float64
	// refill is the inflow per second while nothing is used.
	refill float64
	// spent marks the cells without credits, in which the rate stayed at the baseline.
	spent timeline.Mask
	// reported is the provider's own balance, as a share of the capacity; nil if there is none.
	reported []float64
}

const (
	// presentS is the time over which the present rate is averaged; at least presentLeastS of it
	// must be known.
	presentS      = 3600.0
	presentLeastS = 30.0
	// presentPeriods is how many samples of an infrequently sampled source count as the present.
	presentPeriods = 20
	// fallLeast is the share of a bucket by which a reported balance must fall to give a rate,
	// because it is rounded.
	fallLeast = 0.005
	// noDrain is the share of the refill below which a drain is negligible.
	noDrain = 0.005
)

// balances returns the credits left in each cell. It starts with the balance of an earlier time if
// that is known and not after the recording, and with a full bucket otherwise.
func (b *bucket) balances(c *rules.Case, earlier Balance, known bool) []float64 {
	out := make([]float64, c.Grid.N)
	left := b.capacity

	began := !known
	for cell := range out {
		if known && !began {
			if c.Grid.Time(cell).After(earlier.At) {
				left, began = earlier.Credits, true
				// The time in between was not measured, so assume it refilled the bucket.
				if cell == 0 {
					left += b.refill * c.Grid.Start(0).Sub(earlier.At).Seconds()
				}
			} else {
				out[cell] = earlier.Credits // a placeholder: the bucket is judged from the balance's time on
				continue
			}
		}

		step := c.Grid.StepSeconds()
		if cell > 0 {
			// In a gap of the recording, use is unknown and assumed to be zero.
			if gap := c.Grid.Start(cell).Sub(c.Grid.Time(cell - 1)).Seconds(); gap > 0 {
				left += b.refill * gap
			}
		}

		if net := b.net[cell]; math.IsNaN(net) {
			left += b.refill * step
		} else {
			left -= net * step
		}

		left = min(max(left, 0), b.capacity)
		switch {
		// An observation beats the computed balance: errors of the computation must not accumulate.
		case b.spent != nil && b.spent[cell]:
			left = 0
		case b.reported != nil && !math.IsNaN(b.reported[cell]):
			left = b.reported[cell] * b.capacity
		}

		out[cell] = left
	}

	if known && !began {
		out[len(out)-1] = earlier.Credits
	}

	return out
}

// reportedDrain is the drain per second in the last hour according to the provider's balance. It is
// better than counting requests, because a volume merges requests that a host counts one by one.
// NaN if the balance did not fall measurably.
func (b *bucket) reportedDrain(c *rules.Case) float64 {
	first, last := -1, -1
	for k := len(b.reported) - 1; k >= 0 &&
		c.Grid.Time(c.Grid.N-1).Sub(c.Grid.Time(k)).Seconds() < presentS; k-- {
		if math.IsNaN(b.reported[k]) {
			continue
		}
		if first = k; last < 0 {
			last = k
		}
	}

	if first < 0 || b.reported[first]-b.reported[last] < fallLeast {
		return math.NaN()
	}

	for first < last && b.reported[first+1] == b.reported[first] {
		first++ // a full bucket stays constant while use is below the refill
	}

	fell := (b.reported[first] - b.reported[last]) * b.capacity
	return fell / c.Grid.Time(last).Sub(c.Grid.Time(first)).Seconds()
}

// drain is the net use per second in the last hour; NaN if too little of it was measured.
func (b *bucket) drain(c *rules.Case) float64 {
	if x := b.reportedDrain(c); x > 0 {
		return x
	}
	cells := int(math.Ceil(presentS / c.Grid.StepSeconds()))
	newest := b.net[max(0, len(b.net)-cells):]
	if float64(timeline.Count(newest))*c.Grid.StepSeconds() < presentLeastS {
		return math.NaN()
	}
	return timeline.Mean(newest)
}

// ends predicts when the bucket is empty at the present rate; nil if it does not drain.
func (b *bucket) ends(left, drain float64) *Ends {
	if !(drain > noDrain*b.refill) {
		return nil
	}
	in := left / drain
	return &Ends{InS: in, LowS: in, HighS: in, Exact: true}
}
