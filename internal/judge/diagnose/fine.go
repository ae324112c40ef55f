package diagnose

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// A long recording is searched in cells longer than its sampling period, so that a month fits in
// memory. Each incident found is then judged again at the sampling period.

const (
	// fineCells is the longest stretch that is judged again, in cells: six hours of seconds.
	fineCells = 6 * 3600
	// fineLeast is the share of an incident's stalled time that must be found again. Less than all
	// is normal, because a long cell counts as stalled even if most of it is calm. But if almost
	// nothing is found, the latency that is usual around the incident is itself a stall compared
	// with the whole recording, and the coarse result is better.
	fineLeast = 0.1
)

// refine judges incidents again at the sampling period if the grid of a long recording is coarser.
// An incident that is too long, or that is not found again, stays as it is. more is how many were
// dropped.
func refine(ctx context.Context, in []recording.Reader, c *rules.Case, step time.Duration, all []*judged,
	opt Options, progress func(done, total int)) (out []*judged, more int, err error) {
	if step <= 0 || step >= c.Grid.Step() {
		return all, 0, nil
	}

	for i, j := range all {
		progress(i, len(all))
		again, err := judgeAgain(ctx, in, c, step, j, opt)
		if err != nil {
			return nil, 0, err
		}
		for _, x := range again {
			if !slices.ContainsFunc(out, func(o *judged) bool { return o.same(x) }) {
				out = append(out, x)
			}
		}
	}

	slices.SortStableFunc(out, func(a, b *judged) int { return cmp.Compare(b.group.Harm(), a.group.Harm()) })
	if more = len(out) - incidentsMax; more > 0 {
		return out[:incidentsMax], more, nil
	}

	return out, 0, nil
}

// judgeAgain returns the incidents that the samples show in place of a coarse one; the coarse one
// itself if that is not possible.
func judgeAgain(ctx context.Context, in []recording.Reader, c *rules.Case, step time.Duration, j *judged,
	opt Options) ([]*judged, error) {
	itself := []*judged{j}
	around, ok := fineSpan(c, j, step)
	if !ok {
		return itself, nil
	}

	opt.From, opt.To, opt.Step, opt.Progress = c.Grid.Start(around.First), c.Grid.Time(around.Last), step, nil
	fine, sig, err := lay(ctx, in, opt)
	if err != nil {
		return nil, err
	}

	held, err := conditions(ctx, fine, sig, opt.Pack)
	if err != nil {
		return nil, err
	}

	found, _, err := incidents(ctx, fine, opt.Pack, held, func(int, int) {})
	if err != nil {
		return nil, err
	}

	found = slices.DeleteFunc(found, func(x *judged) bool { return !j.meets(x) })

	// Neighbours in the same stretch are separate incidents and are judged from their own
	// surroundings.
	stalled := 0.0
	for _, x := range found {
		stalled += x.c.Seconds(x.c.Stall.Cells)
	}

	if stalled < fineLeast*j.c.Seconds(j.c.Stall.Cells) {
		return itself, nil
	}

	return found, nil
}

// fineSpan returns the time around an incident that is judged again, and whether it is short
// enough.
func fineSpan(c *rules.Case, j *judged, step time.Duration) (timeline.Episode, bool) {
	fits := func(e timeline.Episode) bool {
		return float64(e.Cells())*c.Grid.StepSeconds() <= fineCells*step.Seconds()
	}
	if fits(j.span) {
		return j.span, true
	}
	e, around := j.group.Span(), c.Cells(contextSpan)
	e = timeline.Episode{First: max(j.span.First, e.First-around), Last: min(j.span.Last, e.Last+around)}
	return e, fits(e)
}

// lead returns the incident's leading detector, on the grid of the whole recording.
func (j *judged) lead() rules.Stall { return j.whole.Symptoms[j.order[j.group.Lead()]] }

// meets reports whether another incident affects the same operations and overlaps in time.
func (j *judged) meets(x *judged) bool {
	if a, b := j.lead(), x.lead(); a.Called() != b.Called() || a.Class != b.Class {
		return false
	}

	const clockS = 1 // a cell begins where the one before ends
	for _, a := range j.group.Events {
		for _, b := range x.group.Events {
			p, q := a.Parts[0], b.Parts[0]
			from := max(j.whole.Grid.Start(p.First).UnixMilli(), x.whole.Grid.Start(q.First).UnixMilli())
			to := min(j.whole.Grid.Time(p.Last).UnixMilli(), x.whole.Grid.Time(q.Last).UnixMilli())
			if float64(to-from)/1000 > -clockS {
				return true
			}
		}
	}

	return false
}

// same reports whether two are the same incident, found twice: around each of two coarse incidents that only
// the coarse grid separated.
func (j *judged) same(x *judged) bool {
	const apart = 0.5 // of the shorter one's stalled time
	if j.whole.Grid.Step() != x.whole.Grid.Step() || !j.meets(x) {
		return false
	}
	a, b := j.group.Span(), x.group.Span()
	from := max(j.whole.Grid.Start(a.First).UnixMilli(), x.whole.Grid.Start(b.First).UnixMilli())
	to := min(j.whole.Grid.Time(a.Last).UnixMilli(), x.whole.Grid.Time(b.Last).UnixMilli())
	shorter := math.Min(float64(a.Cells()), float64(b.Cells())) * j.whole.Grid.StepSeconds()
	return float64(to-from)/1000 >= apart*shorter
}
