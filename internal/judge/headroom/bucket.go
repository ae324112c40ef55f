package headroom

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A bucket of credits: use over what flows in drains it.
type bucket struct {
	capacity float64
	// net is what each cell takes out of it per second, less what flows in; NaN where use was not
	// measured.
	net []float64
	// refill is what flows in per second while nothing is used.
	refill float64
	// spent marks the cells in which there were no credits: the rate stood at the baseline.
	spent timeline.Mask
	// reported is the provider's own balance, as a share of the capacity; nil if there is none.
	reported []float64
}

const (
	// presentS is the time whose mean is the present rate; at least presentLeastS of it must be
	// known.
	presentS      = 3600.0
	presentLeastS = 30.0
	// presentPeriods is how many samples of a source that is asked seldom are the present.
	presentPeriods = 20
	// fallLeast is the share of a bucket by which a reported balance has to fall for a rate: it is
	// rounded.
	fallLeast = 0.005
	// noDrain is the share of the refill under which a drain is none.
	noDrain = 0.005
)

// balances are what is left in each cell. It begins with the balance of an earlier time, if that is
// in the recording or before it, or else full.
func (b *bucket) balances(c *rules.Case, earlier Balance, known bool) []float64 {
	out := make([]float64, c.Grid.N)
	left := b.capacity

	began := !known
	for k := range out {
		if known && !began {
			if c.Grid.Time(k).After(earlier.At) {
				left, began = earlier.Credits, true
				if k == 0 { // what lies between was not measured: it may have refilled
					left += b.refill * c.Grid.Start(0).Sub(earlier.At).Seconds()
				}
			} else {
				out[k] = earlier.Credits // of no use to anybody: it is judged from then on
				continue
			}
		}

		step := c.Grid.StepSeconds()
		if k > 0 {
			if gap := c.Grid.Start(k).Sub(c.Grid.Time(k - 1)).Seconds(); gap > 0 {
				left += b.refill * gap
			}
		}

		if net := b.net[k]; math.IsNaN(net) {
			left += b.refill * step
		} else {
			left -= net * step
		}

		left = min(max(left, 0), b.capacity)
		switch {
		case b.spent != nil && b.spent[k]:
			left = 0
		case b.reported != nil && !math.IsNaN(b.reported[k]):
			left = b.reported[k] * b.capacity
		}

		out[k] = left
	}

	if known && !began {
		out[len(out)-1] = earlier.Credits
	}

	return out
}

// reportedDrain is what the provider's own balance lost per second in the newest hour: a volume merges
// requests that a host counts one by one. NaN if the balance did not fall, or by too little to tell.
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
		first++ // a full bucket does not fill any more
	}

	fell := (b.reported[first] - b.reported[last]) * b.capacity
	return fell / c.Grid.Time(last).Sub(c.Grid.Time(first)).Seconds()
}

// drain is what the newest hour takes out per second; NaN if too little of it was measured.
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

// ends is when the bucket is empty at the present rate; nil if it does not drain.
func (b *bucket) ends(left, drain float64) *Ends {
	if !(drain > noDrain*b.refill) {
		return nil
	}
	in := left / drain
	return &Ends{InS: in, LowS: in, HighS: in, Exact: true}
}
