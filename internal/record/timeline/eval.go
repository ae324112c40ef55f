package timeline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Leaves provide the series of an expression.
type Leaves interface {
	// Each visits the series that a selector matches, on the grid: those of counters as rates per second and
	// interval. An aggregation then never holds all of its input series: the CPU seconds of 192 CPUs by
	// mode are 1,900 series.
	Each(sel *parser.VectorSelector, counter bool, visit func(Track) error) error
}

// ErrUnsupported is wrapped by the errors of [Eval] for PromQL outside the subset. The caller can
// then use the recording's own engine.
var ErrUnsupported = errors.New("PromQL outside the subset of the grid")

// Eval computes a PromQL expression on a grid. The subset: selectors without offset; irate (the
// rate of the interval itself), rate and increase (its mean over the trailing range); max, min,
// avg, sum and last_over_time; sum, max, min, avg and count with by and without; arithmetic and
// comparison (also with bool, on, ignoring, group_left); and, or, unless; abs, clamp_min,
// clamp_max, label_replace, and histogram_quantile of classic buckets. Result labels have no metric
// name. A scalar result is one track without labels.
func Eval(g Grid, e parser.Expr, l Leaves) ([]Track, error) {
	v, err := (&evaluator{g: g, l: l}).eval(e)
	if err != nil {
		return nil, err
	}
	if v.scalar {
		return []Track{{Values: slices.Repeat([]float64{v.number}, g.N)}}, nil
	}
	return v.tracks, nil
}

type evaluator struct {
	g    Grid
	l    Leaves
	held int // cells of series that were collected
}

type value struct {
	scalar bool
	number float64
	tracks []Track
}

func (ev *evaluator) eval(e parser.Expr) (value, error) {
	// Leaves come first, so that aggregations can stream their series.
	if f, err := ev.leafOf(e); f != nil || err != nil {
		if err != nil {
			return value{}, err
		}
		return ev.collect(f)
	}

	switch e := e.(type) {
	case *parser.ParenExpr:
		return ev.eval(e.Expr)
	case *parser.StepInvariantExpr:
		return ev.eval(e.Expr)
	case *parser.NumberLiteral:
		return value{scalar: true, number: e.Val}, nil
	case *parser.UnaryExpr:
		return ev.unary(e)
	case *parser.BinaryExpr:
		return ev.binary(e)
	case *parser.AggregateExpr:
		return ev.aggregate(e)
	case *parser.Call:
		return ev.call(e)
	}

	return value{}, unsupported(e, fmt.Sprintf("%T", e))
}

func unsupported(e parser.Expr, what string) error {
	return fmt.Errorf("%s in %q: %w", what, e.String(), ErrUnsupported)
}

func (ev *evaluator) unary(e *parser.UnaryExpr) (value, error) {
	v, err := ev.eval(e.Expr)
	if err != nil || e.Op != parser.SUB {
		return v, err
	}
	if v.scalar {
		v.number = -v.number
		return v, nil
	}
	return mapped(v, func(x float64) float64 { return -x }), nil
}

func mapped(v value, f func(float64) float64) value {
	out := make([]Track, len(v.tracks))
	for i, t := range v.tracks {
		vals := make([]float64, len(t.Values))
		for k, x := range t.Values {
			vals[k] = f(x)
		}
		out[i] = Track{Labels: t.Labels, Values: vals}
	}
	return value{tracks: out}
}

func (ev *evaluator) call(e *parser.Call) (value, error) {
	switch e.Func.Name {
	case "abs":
		// For a number, abs returns a number; otherwise it applies to each cell.
		v, err := ev.eval(e.Args[0])
		if err != nil || v.scalar {
			return value{scalar: true, number: math.Abs(v.number)}, err
		}
		return mapped(v, math.Abs), nil
	case "clamp_min", "clamp_max":
		v, err := ev.eval(e.Args[0])
		if err != nil {
			return v, err
		}

		bound, err := ev.eval(e.Args[1])
		if err != nil || !bound.scalar {
			return value{}, errors.Join(err, unsupported(e, "a bound that is not a number"))
		}

		clamp := math.Max
		if e.Func.Name == "clamp_max" {
			clamp = math.Min
		}

		return mapped(v, func(x float64) float64 { return clamp(x, bound.number) }), nil
	case "label_replace":
		return ev.labelReplace(e)
	case "histogram_quantile":
		return ev.quantile(e)
	}
	return value{}, unsupported(e, e.Func.Name+"()")
}

func matrixSelector(e *parser.Call) (*parser.VectorSelector, time.Duration, error) {
	m, ok := e.Args[0].(*parser.MatrixSelector)
	if !ok {
		return nil, 0, unsupported(e, "a subquery")
	}
	sel, ok := m.VectorSelector.(*parser.VectorSelector)
	// An offset or a fixed time would need cells outside of the grid.
	if !ok || sel.OriginalOffset != 0 || sel.Timestamp != nil {
		return nil, 0, unsupported(e, "offset and @")
	}
	return sel, m.Range, nil
}

func (ev *evaluator) rate(e *parser.Call) (*leaf, error) {
	sel, rng, err := matrixSelector(e)
	if err != nil {
		return nil, err
	}

	f := &leaf{sel: sel, counter: true}
	// The leaf already has the rate of each interval.
	if e.Func.Name == "irate" {
		return f, nil
	}

	scale := 1.0
	if e.Func.Name == "increase" {
		scale = rng.Seconds()
	}

	cells := max(int(rng.Milliseconds()/ev.g.StepMs), 1)
	f.then = func(vals []float64) []float64 {
		return trailing(vals, cells, func(w []float64) float64 { return Mean(w) * scale })
	}
	return f, nil
}

func (ev *evaluator) overTime(e *parser.Call) (*leaf, error) {
	sel, rng, err := matrixSelector(e)
	if err != nil {
		return nil, err
	}

	reduce := map[string]func([]float64) float64{
		"max_over_time": Max,
		"avg_over_time": Mean,
		"sum_over_time": func(w []float64) float64 {
			// An empty sum would be zero, and an unmeasured value is not zero.
			if Count(w) == 0 {
				return math.NaN()
			}
			return Sum(w)
		},
		"min_over_time": func(w []float64) float64 { return -Max(negated(w)) },
		"last_over_time": func(w []float64) float64 {
			for i := len(w) - 1; i >= 0; i-- {
				if !math.IsNaN(w[i]) {
					return w[i]
				}
			}
			return math.NaN()
		},
	}[e.Func.Name]

	cells := max(int(rng.Milliseconds()/ev.g.StepMs), 1)
	return &leaf{sel: sel, then: func(vals []float64) []float64 { return trailing(vals, cells, reduce) }}, nil
}

func negated(w []float64) []float64 {
	out := make([]float64, len(w))
	for i, x := range w {
		out[i] = -x
	}
	return out
}

func trailing(vals []float64, cells int, reduce func([]float64) float64) []float64 {
	out := make([]float64, len(vals))
	for k := range vals {
		out[k] = reduce(vals[max(0, k-cells+1) : k+1])
	}
	return out
}

func (ev *evaluator) aggregate(expr *parser.AggregateExpr) (value, error) {
	// topk, quantile and count_values take a parameter, and are not in the subset.
	if expr.Param != nil {
		return value{}, unsupported(expr, expr.Op.String())
	}

	key := grouping(expr.Grouping, !expr.Without)
	var out []Track
	var counts [][]float64
	index := map[string]int{}

	err := ev.each(expr.Expr, func(t Track) error {
		ls := key(t.Labels)
		i, seen := index[ls.String()]
		if !seen {
			i = len(out)
			index[ls.String()] = i
			out = append(out, Track{Labels: ls, Values: Unknown(ev.g.N)})
			counts = append(counts, make([]float64, ev.g.N))
		}
		return accumulate(expr, out[i].Values, counts[i], t.Values)
	})
	if err != nil {
		return value{}, err
	}

	for i := range out {
		for k, n := range counts[i] {
			switch {
			// A cell in which no series has a value stays NaN.
			case n == 0:
			case expr.Op == parser.AVG:
				out[i].Values[k] /= n
			case expr.Op == parser.COUNT:
				out[i].Values[k] = n
			}
		}
	}

	return value{tracks: out}, nil
}

func accumulate(e *parser.AggregateExpr, acc, counts, vals []float64) error {
	for k, x := range vals {
		// As in PromQL, a series without a sample has no part in the aggregate.
		if math.IsNaN(x) {
			continue
		}

		first := counts[k] == 0
		counts[k]++

		switch e.Op {
		case parser.SUM, parser.AVG, parser.COUNT:
			if first {
				acc[k] = 0
			}
			acc[k] += x
		case parser.MAX:
			if first || x > acc[k] {
				acc[k] = x
			}
		case parser.MIN:
			if first || x < acc[k] {
				acc[k] = x
			}
		default:
			return unsupported(e, e.Op.String())
		}
	}
	return nil
}

// grouping keeps (by) or drops the named labels, and always drops the metric name.
func grouping(names []string, by bool) func(labels.Labels) labels.Labels {
	return func(ls labels.Labels) labels.Labels {
		b := labels.NewBuilder(ls)
		// Prometheus drops the name too, because the result is no longer that metric.
		b.Del(model.MetricNameLabel)
		if by {
			b.Keep(names...)
		} else {
			b.Del(names...)
		}
		return b.Labels()
	}
}
