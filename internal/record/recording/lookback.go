package recording

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// boundLookback rewrites expr so that a server with its own lookback (usually 5 minutes) uses the
// given one. Prometheus before 2.43, Mimir before 2026 and VictoriaMetrics ignore the parameter
// lookback_delta, so they would fill a gap with the value before it. A selector x outside of a
// range becomes last_over_time(x[lookback]), which means the same on every server.
//
// If a function needs the selector itself (timestamp, absent), the selector is unchanged, and only
// the parameter bounds it.
func boundLookback(expr string, lookback time.Duration) (string, error) {
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return "", fmt.Errorf("query %q: %w", expr, err)
	}
	return bounded(tree, max(lookback.Truncate(time.Millisecond), time.Millisecond)).String(), nil
}

func bounded(e parser.Expr, lookback time.Duration) parser.Expr {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return &parser.Call{
			Func: parser.MustGetFunction("last_over_time"),
			Args: parser.Expressions{&parser.MatrixSelector{VectorSelector: e, Range: lookback}},
		}
	case *parser.AggregateExpr:
		e.Expr = bounded(e.Expr, lookback)
		if e.Param != nil {
			e.Param = bounded(e.Param, lookback)
		}
	case *parser.BinaryExpr:
		e.LHS, e.RHS = bounded(e.LHS, lookback), bounded(e.RHS, lookback)
	case *parser.Call:
		for i, a := range e.Args {
			// last_over_time would change the result: timestamp, for example, is about the sample
			// itself.
			if _, plain := a.(*parser.VectorSelector); plain && wantsSelector(e.Func.Name) {
				continue
			}
			e.Args[i] = bounded(a, lookback)
		}
	case *parser.ParenExpr:
		e.Expr = bounded(e.Expr, lookback)
	case *parser.SubqueryExpr:
		e.Expr = bounded(e.Expr, lookback)
	case *parser.UnaryExpr:
		e.Expr = bounded(e.Expr, lookback)
	}

	return e
}

// wantsSelector reports whether the result of a function depends on its argument being a selector.
func wantsSelector(function string) bool {
	return slices.Contains([]string{"timestamp", "absent", "info"}, function)
}
