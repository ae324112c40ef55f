package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// P99 is the 99th percentile, over the whole recording and for one instance, of a signal whose
// series are the classes of a histogram; NaN if not measured. It interpolates like
// histogram_quantile.
func (sig *Signals) P99(classes *Signal, instance string) float64 {
	var edges, upTo []float64
	for _, x := range sig.Buckets(classes, instance) {
		edges, upTo = append(edges, x.EdgeS), append(upTo, timeline.Sum(x.Values))
	}
	last := len(edges) - 1
	if last < 1 || !math.IsInf(edges[last], 1) || !(upTo[last] > 0) {
		return math.NaN()
	}

	rank := 0.99 * upTo[last]
	for i, n := range upTo {
		switch {
		case n < rank:
		case i == 0:
			return edges[0]
		case math.IsInf(edges[i], 1):
			return edges[i-1]
		default:
			return edges[i-1] + (edges[i]-edges[i-1])*(rank-upTo[i-1])/(n-upTo[i-1])
		}
	}

	return math.NaN()
}
