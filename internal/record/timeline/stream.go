package timeline

import (
	"errors"
	"fmt"

	"github.com/prometheus/prometheus/promql/parser"
)

// heldCellsMax bounds the cells of all series that one expression holds at a time: 0.8 GB.
const heldCellsMax = 100_000_000

// ErrTooLarge is wrapped by the errors of [Eval] for an expression whose series do not fit in
// memory.
var ErrTooLarge = errors.New("too many series for this much time")

// A leaf is an expression with a single selector and a function that is applied to each series.
type leaf struct {
	sel     *parser.VectorSelector
	counter bool
	then    func([]float64) []float64 // may be nil
}

// leafOf returns e as a leaf, or nil if it is not one.
func (ev *evaluator) leafOf(e parser.Expr) (*leaf, error) {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return ev.leafOf(e.Expr)
	case *parser.StepInvariantExpr:
		return ev.leafOf(e.Expr)
	case *parser.VectorSelector:
		if e.OriginalOffset != 0 || e.Timestamp != nil {
			return nil, unsupported(e, "offset and @")
		}
		return &leaf{sel: e}, nil
	case *parser.Call:
		switch e.Func.Name {
		case "irate", "rate", "increase":
			return ev.rate(e)
		case "max_over_time", "min_over_time", "avg_over_time", "sum_over_time", "last_over_time":
			return ev.overTime(e)
		}
	}

	return nil, nil
}

// eachOf visits the series of a leaf.
func (ev *evaluator) eachOf(f *leaf, visit func(Track) error) error {
	drop := grouping(nil, false)
	return ev.l.Each(f.sel, f.counter, func(t Track) error {
		t.Labels = drop(t.Labels)
		if f.then != nil {
			t.Values = f.then(t.Values)
		}
		return visit(t)
	})
}

// collect returns all series of a leaf.
func (ev *evaluator) collect(f *leaf) (value, error) {
	var v value
	err := ev.eachOf(f, func(t Track) error {
		// All series of the expression count, not only those of this leaf.
		if ev.held += len(t.Values); ev.held > heldCellsMax {
			return fmt.Errorf("%s: over %d cells of %d s: %w", f.sel, heldCellsMax, ev.g.StepMs/1000, ErrTooLarge)
		}
		v.tracks = append(v.tracks, t)
		return nil
	})
	return v, err
}

// each visits the series of an expression.
func (ev *evaluator) each(e parser.Expr, visit func(Track) error) error {
	f, err := ev.leafOf(e)
	if err != nil {
		return err
	}
	if f != nil {
		return ev.eachOf(f, visit)
	}
	v, err := ev.eval(e)
	if err != nil {
		return err
	}
	for _, t := range v.tracks {
		if err := visit(t); err != nil {
			return err
		}
	}
	return nil
}
