package iostat

import (
	"slices"
	"time"
)

// runsOrdered bounds the runs of a log to sort by time.
const runsOrdered = 16

// A runStart is the first time of a run.
type runStart struct {
	run int
	at  stamp
}

// runs returns the runs of a log in order of time, or nil if they are already in order, or their
// times are unknown. Logs are often joined in the wrong order (cat b.log a.log).
func (s *survey) runs(o dateOrder, loc *time.Location) []int {
	if len(s.starts) < 2 || len(s.starts) > runsOrdered {
		return nil
	}

	at := make([]time.Time, len(s.starts))
	order := make([]int, len(s.starts))
	for i, x := range s.starts {
		t, ok := x.at.time(o, loc, time.Time{})
		if !ok || !x.at.hasDate {
			return nil
		}
		at[i], order[i] = t, i
	}

	slices.SortStableFunc(order, func(a, b int) int { return at[a].Compare(at[b]) })

	// The usual case, which needs no further pass over the file.
	if slices.IsSorted(order) {
		return nil
	}

	for i, k := range order {
		order[i] = s.starts[k].run
	}

	return order
}
