package chain

import (
	"cmp"
	"slices"

	"plimsoll/internal/trace/events"
)

// queueSteps is the resolution of a drawn queue; queueOwners is the number of owners drawn
// separately.
const (
	queueSteps  = 240
	queueOwners = 3
)

// A Queue shows how many requests were outstanding on a call's disks, from creation to completion, by
// owner. It starts a tenth of the call's duration before the call and ends the same time after it.
type Queue struct {
	From, To int64
	Owners   []string
	Requests [][]float64 // mean number, by owner and step
}

// Step returns the duration of a step in nanoseconds.
func (q *Queue) Step() int64 { return (q.To - q.From) / queueSteps }

// Queue computes the queue of the disks around a call.
func (w *Window) Queue(c *events.Call) *Queue {
	margin := (c.Exit - c.Enter) / 10
	queue := &Queue{From: c.Enter - margin, To: c.Exit + margin}
	step := queue.Step()
	if step <= 0 {
		return nil
	}

	by := map[string][]float64{}
	total := map[string]float64{}
	around := *c
	around.Enter, around.Exit = queue.From, queue.To

	for _, r := range w.Around(&around) {
		name := w.Label(&r)
		if by[name] == nil {
			by[name] = make([]float64, queueSteps)
		}

		// A request counts in a step by the fraction of the step during which it was outstanding.
		for i := max(0, (r.Begin()-queue.From)/step); i < queueSteps; i++ {
			from := queue.From + i*step
			within := min(r.Done, from+step) - max(r.Begin(), from)
			if within <= 0 {
				break
			}
			by[name][i] += float64(within) / float64(step)
			total[name] += float64(within)
		}
	}

	for name := range by {
		queue.Owners = append(queue.Owners, name)
	}

	slices.SortFunc(queue.Owners, func(a,
		b string) int {
		return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b))
	})

	// The largest owners get their own curve; the rest are summed.
	others := make([]float64, queueSteps)
	for i, name := range queue.Owners {
		if i < queueOwners {
			queue.Requests = append(queue.Requests, by[name])
			continue
		}
		for k, v := range by[name] {
			others[k] += v
		}
	}

	if len(queue.Owners) > queueOwners {
		queue.Owners = append(queue.Owners[:queueOwners], "others")
		queue.Requests = append(queue.Requests, others)
	}

	return queue
}

// Draws reports whether a call is the longest so far, and its queue therefore worth drawing.
func (t *Tally) Draws(c *Chain) bool {
	worst := t.report.Worst
	return len(worst) == 0 || c.Took() > worst[0].Took()
}
