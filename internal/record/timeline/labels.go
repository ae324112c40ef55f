package timeline

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func (ev *evaluator) labelReplace(e *parser.Call) (value, error) {
	v, err := ev.eval(e.Args[0])
	if err != nil {
		return v, err
	}

	arg := func(i int) string {
		if s, ok := e.Args[i].(*parser.StringLiteral); ok {
			return s.Val
		}
		return ""
	}

	re, err := regexp.Compile("^(?s:" + arg(4) + ")$")
	if err != nil {
		return value{}, fmt.Errorf("in %q: %w", e.String(), err)
	}

	out := make([]Track, len(v.tracks))
	for i, t := range v.tracks {
		out[i] = t
		src := t.Labels.Get(arg(3))
		if at := re.FindStringSubmatchIndex(src); at != nil {
			b := labels.NewBuilder(t.Labels)
			b.Set(arg(1), string(re.ExpandString(nil, arg(2), src, at)))
			out[i].Labels = b.Labels()
		}
	}

	return value{tracks: out}, nil
}

type bucket struct {
	le     float64
	values []float64
}

// quantile computes histogram_quantile over classic buckets, as defined in the Prometheus
// documentation: linear within a bucket, and the highest finite bound above.
func (ev *evaluator) quantile(e *parser.Call) (value, error) {
	phi, err := ev.eval(e.Args[0])
	if err != nil || !phi.scalar {
		return value{}, unsupported(e, "a quantile that is not a number")
	}

	v, err := ev.eval(e.Args[1])
	if err != nil {
		return v, err
	}

	groups := map[string][]bucket{}
	var order []labels.Labels

	// All labels but le identify a histogram.
	strip := grouping([]string{model.BucketLabel}, false)
	for _, t := range v.tracks {
		le, err := strconv.ParseFloat(t.Labels.Get(model.BucketLabel), 64)
		if err != nil {
			continue // not a bucket
		}
		ls := strip(t.Labels)
		if _, seen := groups[ls.String()]; !seen {
			order = append(order, ls)
		}
		groups[ls.String()] = append(groups[ls.String()], bucket{le, t.Values})
	}

	var out []Track
	// Groups keep the order of the series, so that the result does not depend on a map.
	for _, ls := range order {
		bs := groups[ls.String()]
		slices.SortFunc(bs, func(a, b bucket) int { return cmp.Compare(a.le, b.le) })
		vals := make([]float64, ev.g.N)
		for k := range vals {
			vals[k] = bucketQuantile(phi.number, bs, k)
		}
		out = append(out, Track{Labels: ls, Values: vals})
	}

	return value{tracks: out}, nil
}

// bucketQuantile ignores buckets without a value in the cell, like Prometheus ignores missing
// series: an observation then counts in the next known bucket.
func bucketQuantile(phi float64, all []bucket, cell int) float64 {
	bs := all
	if slices.ContainsFunc(all, func(b bucket) bool { return math.IsNaN(b.values[cell]) }) {
		bs = slices.DeleteFunc(slices.Clone(all), func(b bucket) bool { return math.IsNaN(b.values[cell]) })
	}

	last := len(bs) - 1
	if last < 1 || !math.IsInf(bs[last].le, 1) {
		return math.NaN()
	}

	total := bs[last].values[cell]
	if !(total > 0) {
		return math.NaN()
	}

	rank := phi * total
	found, below := 0, 0.0

	// Rates of cumulative buckets may decrease slightly, so below is the maximum so far.
	for found < last && !(bs[found].values[cell] >= rank) {
		below = max(below, bs[found].values[cell])
		found++
	}

	if found == last {
		return bs[last-1].le
	}

	lo := 0.0
	if found > 0 {
		lo = bs[found-1].le
	} else if bs[0].le <= 0 {
		return bs[0].le
	}

	in := bs[found].values[cell] - below
	if !(in > 0) {
		return bs[found].le
	}

	return lo + (bs[found].le-lo)*(rank-below)/in
}
