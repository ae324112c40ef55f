package chain

import (
	"cmp"
	"slices"

	"plimsoll/internal/trace/events"
)

// queueSteps is how finely a queue is drawn, queueOwners how many owners are told apart.
const (
	queueSteps  = 240
	queueOwners = 3
)

// A Queue is what a call's disks had to do while it ran: requests between their making and their
// completion, by owner. It begins a tenth of the call's time before it and ends as much after.
type Queue struct {
	From, To int64
	Owners   []string
	Requests [][]float64 // by owner, then by step: the mean number
}

// Step is the duration of a step, in nanoseconds.
func (q *Queue) Step() int64 { return (q.To - q.From) / queueSteps }

// Queue draws the disks' queue around a call.
func (w *Window) Queue(c *events.Call) *Queue {
	margin := (c.Exit - c.Enter) / 10
	q := &Queue{From: c.Enter - margin, To: c.Exit + margin}
	step := q.Step()
	if step <= 0 {
		return nil
	}

	by := map[string][]float64{}
	total := map[string]float64{}
	around := *c
	around.Enter, around.Exit = q.From, q.To

	for _, r := range w.Around(&around) {
		name := w.Label(&r)
		if by[name] == nil {
			by[name] = make([]float64, queueSteps)
		}

		for i := max(0, (r.Begin()-q.From)/step); i < queueSteps; i++ {
			from := q.From + i*step
			within := min(r.Done, from+step) - max(r.Begin(), from)
			if within <= 0 {
				break
			}
			by[name][i] += float64(within) / float64(step)
			total[name] += float64(within)
		}
	}

	for name := range by {
		q.Owners = append(q.Owners, name)
	}

	slices.SortFunc(q.Owners, func(a,
		b string) int {
		return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b))
	})

	others := make([]float64, queueSteps)
	for i, name := range q.Owners {
		if i < queueOwners {
			q.Requests = append(q.Requests, by[name])
			continue
		}
		for k, v := range by[name] {
			others[k] += v
		}
	}

	if len(q.Owners) > queueOwners {
		q.Owners = append(q.Owners[:queueOwners], "others")
		q.Requests = append(q.Requests, others)
	}

	return q
}

// Draws reports whether a call is among the longest until now, whose queue is worth drawing.
func (t *Tally) Draws(c *Chain) bool {
	worst := t.report.Worst
	return len(worst) == 0 || c.Took() > worst[0].Took()
}
