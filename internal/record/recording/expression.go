package recording

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// The parser's time grows with the square of the nesting, so length and nesting are bounded before it
// runs: 32 KiB of the slowest expression, a sum, take half a second. Evaluating a sum takes time
// quadratic in the number of its terms: 2 s for 1,200 terms, half a minute for 5,000.
const (
	exprBytesMax     = 32 << 10
	exprDepthMax     = 200
	exprOperatorsMax = 1000
)

// CheckExpr returns an error if a PromQL expression from a user or a client is too long or nested
// too deeply to parse. Plimsoll's own expressions may be longer.
func CheckExpr(text string) error {
	if len(text) > exprBytesMax {
		return fmt.Errorf("the PromQL expression has %d bytes: want at most %d; split it into several queries",
			len(text), exprBytesMax)
	}
	if depth := nesting(text); depth > exprDepthMax {
		return fmt.Errorf("the PromQL expression is nested %d levels deep: want at most %d; remove parentheses or split it",
			depth, exprDepthMax)
	}

	// A shorter expression cannot have that many: an operator and its operand take at least two bytes.
	if len(text) < 2*exprOperatorsMax {
		return nil
	}
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return nil //nolint:nilerr // the query reports it, with its source
	}
	if n := operators(tree); n > exprOperatorsMax {
		return fmt.Errorf("the PromQL expression has %d binary operators: want at most %d; split it into several queries",
			n, exprOperatorsMax)
	}

	return nil
}

// operators returns the number of binary operators in an expression.
func operators(n parser.Node) int {
	count := 0
	if _, ok := n.(*parser.BinaryExpr); ok {
		count = 1
	}
	for child := range parser.ChildrenIter(n) {
		count += operators(child)
	}
	return count
}

// nesting returns the maximum number of open brackets, including the signs between them. Strings
// and comments do not count.
func nesting(text string) int {
	open, signs, most := 0, 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '\'', '`':
			i = stringEnd(text, i)
			signs = 0
		case '#':
			if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(text)
			}
		case '(', '[', '{':
			open++
		case ')', ']', '}':
			open--
			signs = 0
		case '+', '-':
			signs++
		case ' ', '\t', '\r', '\n':
		default:
			signs = 0
		}
		most = max(most, open+signs)
	}

	return most
}

// stringEnd returns the index of the quote that ends the string starting at begin, or the length of
// the text.
func stringEnd(text string, begin int) int {
	for i := begin + 1; i < len(text); i++ {
		switch {
		case text[i] == text[begin]:
			return i
		case text[i] == '\\' && text[begin] != '`':
			i++
		}
	}
	return len(text)
}

// subqueryReadsMax bounds the values that subqueries read: those in the subquery's range, once for each
// step of the query around it. A max_over_time of that many takes ten seconds, during which the engine
// does not check its context.
const subqueryReadsMax = 10_000_000_000

// checkSubqueries returns an error for a subquery with more steps than a query may have, and for
// subqueries that read too many values. The engine allocates all steps before it evaluates the
// first.
func checkSubqueries(expr string, span, every time.Duration) error {
	if !strings.ContainsRune(expr, ':') || !strings.ContainsRune(expr, '[') {
		return nil
	}

	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return fmt.Errorf("query %q: %w", expr, err)
	}

	var over error
	reads := 0.0
	parser.Inspect(tree, func(n parser.Node, path []parser.Node) error {
		sub, ok := n.(*parser.SubqueryExpr)
		if !ok || over != nil {
			return over
		}

		// In milliseconds, because the sum of a few ranges may exceed a time.Duration.
		covered, step := coveredMs(sub, path, span), stepMs(sub)
		written := fmt.Sprintf("[%s:%s]", model.Duration(sub.Range), durationMs(step))
		if steps := covered/step + 1; steps > stepsMax {
			over = fmt.Errorf("query %q: the subquery %s has %d steps: want at most %d; use a step of %s or more, or a shorter range",
				expr, written, steps, stepsMax, durationMs(niceMs(covered/stepsMax+1)))
			return over
		}

		around := stepsAround(sub, path, span, every)
		reads += around * float64(sub.Range.Milliseconds()/step+1)
		if reads > subqueryReadsMax {
			wider := int64(float64(step)*reads/subqueryReadsMax) + 1
			over = fmt.Errorf("query %q: the subquery %s is evaluated at %.0f steps and reads %.0f values in total: want at most %d; use a step of %s or more",
				expr, written, around, reads, subqueryReadsMax, durationMs(niceMs(wider)))
		}

		return over
	})

	return over
}

// stepsAround returns the number of steps for which a subquery's range is read: those of the
// subquery around it, or of the query.
func stepsAround(sub *parser.SubqueryExpr, path []parser.Node, span, every time.Duration) float64 {
	if fixed(sub) {
		return 1
	}
	for i := len(path) - 1; i >= 0; i-- {
		if around, ok := path[i].(*parser.SubqueryExpr); ok {
			return float64(coveredMs(around, path[:i], span)/stepMs(around) + 1)
		}
	}
	return float64(span/every + 1)
}

// coveredMs returns the time over which a subquery is evaluated, in milliseconds: its range, those
// of the subqueries around it up to one at a fixed time, and the span of the query. The sum of a
// few ranges may exceed a time.Duration.
func coveredMs(sub *parser.SubqueryExpr, path []parser.Node, span time.Duration) int64 {
	covered := sub.Range.Milliseconds()
	if fixed(sub) {
		return covered
	}

	for i := len(path) - 1; i >= 0; i-- {
		around, ok := path[i].(*parser.SubqueryExpr)
		if !ok {
			continue
		}
		covered += around.Range.Milliseconds()
		if fixed(around) {
			return covered
		}
	}

	return covered + span.Milliseconds()
}

// fixed reports whether a subquery has a fixed time (@).
func fixed(sub *parser.SubqueryExpr) bool { return sub.Timestamp != nil || sub.StartOrEnd != 0 }

// stepMs returns the step of a subquery in milliseconds.
func stepMs(sub *parser.SubqueryExpr) int64 {
	if sub.Step == 0 {
		return subqueryStep.Milliseconds()
	}
	return max(sub.Step.Milliseconds(), 1)
}

// durationMs returns a duration in the notation of PromQL.
func durationMs(ms int64) model.Duration {
	return model.Duration(time.Duration(ms) * time.Millisecond)
}

// subqueryStep is the default step of a subquery: a server uses its global interval, one minute by
// default.
const subqueryStep = time.Minute

// niceMs rounds milliseconds up to a step that people write, such as 200ms, 30s or 5m.
func niceMs(ms int64) int64 {
	for _, nice := range []int64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 20e3, 30e3, 60e3,
		120e3, 300e3, 600e3, 1200e3, 1800e3, 3600e3, 7200e3, 21600e3, 43200e3} {
		if nice >= ms {
			return nice
		}
	}
	const day = 86_400_000
	return (ms + day - 1) / day * day
}
