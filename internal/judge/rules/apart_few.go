package rules

import (
	"math"
	"time"

	"plimsoll/internal/record/timeline"
)

// Long operations of a few clients raise the mean latency like a stall, for example one client that
// runs half-second report queries one after the other, alone. No other client waits for them.
const (
	fewWaiting = 2.5  // operations waiting at the same time, on average
	fewOps     = 10.0 // completions per second, there and usually: one client, back to back, at StallCeilingS
	leastLong  = 3.0  // operations: fewer may be a single slow operation and its own wait
	FewGap     = time.Minute
	fewAround  = 30 * time.Minute // time on either side from which the usual rate is taken

	// If nearly all intervals are slow (slowNearly) and no more operations complete than usual, the
	// usual operations became slow; no long ones were added. A client that runs long operations
	// adds at least addedLeast of them to each interval in which one ends.
	slowNearly = 0.8
	addedLeast = 0.5
	// usualSpread is by how many standard deviations a count may exceed the usual without counting
	// as added.
	usualSpread = 2.0
)

// ApartFew separates the long operations of a few clients from a stall: two or three at a time,
// completing a few per second, no more than complete when nothing stalls, and not the usual
// operations, which took far less before.
func ApartFew(sampling Time, stall Stall) Stall {
	if stall.Waiting == nil || stall.Ops == nil || stall.OfLog || !stall.Any() {
		return stall
	}

	busy := timeline.Where(stall.Ops, func(x float64) bool { return x > 0 }).Without(stall.Cells)
	around := sampling.Cells(fewAround)

	var few []timeline.Episode
	for _, e := range stall.Cells.Close(sampling.Cells(FewGap)).Episodes() {
		cells := float64(stall.Cells[e.First : e.Last+1].Count())
		ops := timeline.Sum(stall.Ops[e.First : e.Last+1])
		waited := timeline.Sum(stall.Waiting[e.First : e.Last+1])
		if waited > fewWaiting*cells || ops > fewOps*cells || ops*sampling.Grid.StepSeconds() < leastLong {
			continue
		}

		from, to := max(0, e.First-around), min(len(stall.Ops), e.Last+around+1)

		// Idle and stalled cells say nothing about the usual rate.
		usual := timeline.At(stall.Ops[from:to], busy[from:to])
		if timeline.Quantile(usual, 0.75) > fewOps {
			continue // usually many complete quickly, so these are waiting
		}

		// Enough calm time shows whether these are the usual operations, slowed down.
		calm := timeline.At(stall.Latency[from:to], busy[from:to])
		if timeline.Count(calm) >= e.Cells() && stall.sameOperations(sampling, e, timeline.Mean(usual),
			timeline.Quantile(calm, 0.5)) {
			continue
		}

		few = append(few, e)
	}

	if len(few) == 0 {
		return stall
	}

	stall.Few = timeline.MaskOf(sampling.Grid.N, few).And(stall.Cells)
	stall.Cells = stall.Cells.Without(stall.Few)
	return stall
}

// sameOperations reports whether the operations of an episode are the usual ones, slowed down:
// nearly all of its intervals are slow, and no more operations complete than usual.
func (s Stall) sameOperations(t Time, e timeline.Episode, usualOps, usualS float64) bool {
	latency := s.Latency[e.First : e.Last+1]
	slow := timeline.Where(latency, func(x float64) bool { return x >= StallFactor*usualS }).Count()
	if float64(slow) < slowNearly*float64(timeline.Count(latency)) {
		return false
	}
	lengthS := float64(e.Cells()) * t.Grid.StepSeconds()
	added := timeline.Sum(s.Ops[e.First:e.Last+1])*t.Grid.StepSeconds() - usualOps*lengthS
	return added < max(addedLeast*lengthS/s.PeriodS, usualSpread*math.Sqrt(usualOps*lengthS))
}
