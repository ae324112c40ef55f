package rules

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"

	"plimsoll/internal/record/timeline"
)

// P99 is the 99th percentile, over the whole recording and for one instance, of a signal whose
// series are the classes of a histogram; NaN if not measured. It interpolates like
// histogram_quantile.
func (sig *Signals) P99(classes *Signal, instance string) float64 {
	type class struct{ edge, upTo float64 }
	var all []class
	for _, t := range sig.Signal(classes) {
		edge, err := strconv.ParseFloat(t.Labels.Get(model.BucketLabel), 64)
		if err == nil && t.Labels.Get("instance") == instance {
			all = append(all, class{edge, timeline.Sum(t.Values)})
		}
	}

	slices.SortFunc(all, func(a, b class) int { return cmp.Compare(a.edge, b.edge) })
	if len(all) < 2 || !math.IsInf(all[len(all)-1].edge, 1) || !(all[len(all)-1].upTo > 0) {
		return math.NaN()
	}

	rank := 0.99 * all[len(all)-1].upTo
	for i, x := range all {
		if x.upTo < rank {
			continue
		}
		switch {
		case i == 0:
			return x.edge
		case math.IsInf(x.edge, 1):
			return all[i-1].edge
		}
		return all[i-1].edge + (x.edge-all[i-1].edge)*(rank-all[i-1].upTo)/(x.upTo-all[i-1].upTo)
	}

	return math.NaN()
}
