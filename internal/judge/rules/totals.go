package rules

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"

	"plimsoll/internal/record/timeline"
)

// Totals are a histogram's counts over the whole recording, for one instance. Any of its classes
// may be missing, as in pages that people shorten before pasting them.
type Totals struct {
	All   float64   // operations
	Edges []float64 // finite upper edges in seconds, ascending
	UpTo  []float64 // operations that took at most as long as the edge
	SumS  float64   // their durations, summed; 0 if unknown
}

// A Bucket is one series of a histogram: the operations per second that took at most EdgeS.
type Bucket struct {
	EdgeS  float64
	Values []float64
}

// Buckets returns a histogram's series for one instance, by their edges.
func (sig *Signals) Buckets(of *Signal, instance string) (out []Bucket) {
	for _, t := range sig.Signal(of) {
		edge, err := strconv.ParseFloat(t.Labels.Get(model.BucketLabel), 64)
		if err == nil && !math.IsNaN(edge) && t.Labels.Get("instance") == instance {
			out = append(out, Bucket{edge, t.Values})
		}
	}
	// Exporters may list them in any order.
	slices.SortStableFunc(out, func(a, b Bucket) int { return cmp.Compare(a.EdgeS, b.EdgeS) })
	return out
}

// TotalsOf sums a signal whose series are classes. counted, which may be nil, counts all
// operations.
func (sig *Signals) TotalsOf(classes, counted *Signal, instance string) Totals {
	step := sig.Grid.StepSeconds()
	var out Totals
	for _, x := range sig.Buckets(classes, instance) {
		n := math.Round(timeline.Sum(x.Values) * step)
		out.All = max(out.All, n)
		if !math.IsInf(x.EdgeS, 1) {
			out.Edges, out.UpTo = append(out.Edges, x.EdgeS), append(out.UpTo, n)
		}
	}

	if counted != nil {
		if n := timeline.Sum(sig.For(counted, "instance", instance)); n > 0 {
			out.All = max(out.All, math.Round(n*step))
		}
	}
	return out
}

// Within returns the edges that a quantile is known to be between; to is +Inf if no class contains
// it.
func (t Totals) Within(q float64) (from, to float64) {
	for i, n := range t.UpTo {
		if n >= q*t.All {
			return from, t.Edges[i]
		}
		from = t.Edges[i]
	}
	return from, math.Inf(1)
}

// longestS is the longest duration to expect of an operation in the last class, which has no edge.
const longestS = 60.0

// SumExceeds reports whether the sum of the durations is too high for a quantile of at most limitS:
// it shows what missing classes hide.
func (t Totals) SumExceeds(q, limitS float64) bool {
	if t.SumS == 0 || t.All == 0 {
		return false
	}

	// The largest possible sum: operations up to the quantile take limitS, or their class's edge if that is
	// lower; all others take their class's edge.
	most, at := 0.0, 0.0
	add := func(n, edge float64) {
		within := min(max(q*t.All-at, 0), n)
		most += within*min(edge, limitS) + (n-within)*edge
		at += n
	}

	for i, n := range t.UpTo {
		add(n-at, t.Edges[i])
	}
	add(t.All-at, max(longestS, limitS))

	return t.SumS > most
}

// Quantile interpolates as histogram_quantile does; NaN if no finite class contains the quantile.
func (t Totals) Quantile(q float64) float64 {
	from, to := t.Within(q)
	if t.All == 0 || math.IsInf(to, 1) {
		return math.NaN()
	}

	below, upTo := 0.0, 0.0
	for i, e := range t.Edges {
		if e == from {
			below = t.UpTo[i]
		}
		if e == to {
			upTo = t.UpTo[i]
		}
	}

	if upTo == below {
		return to
	}

	return from + (to-from)*(q*t.All-below)/(upTo-below)
}

// Over returns how many operations took longer than the highest edge at or below a duration, and
// that edge; false if there is none.
func (t Totals) Over(seconds float64) (n, edge float64, ok bool) {
	for i, e := range t.Edges {
		if e <= seconds*(1+1e-9) {
			n, edge, ok = t.All-t.UpTo[i], e, true
		}
	}
	return n, edge, ok
}
