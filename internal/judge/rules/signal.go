package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// A Signal is a quantity that rules use, independent of the source that measured it.
type Signal struct {
	Name string // "plimsoll:disk_busy:ratio"
	Unit string // "ratio", "seconds", "bytes", "bytes/s", "1/s", "s/s", ""
	Help string
	// Exprs are PromQL over exporters' metrics, the most exact first. The first one whose metrics a
	// recording has is used. $w is replaced by a range that covers two samples.
	Exprs []string
	// Coarse are alternatives for recordings without the metrics of Exprs: a provider's own figures
	// for its volumes, as means over a minute. $p is replaced by the period of a sum in seconds.
	// Rules exported to a server do not use them.
	Coarse []string
	// By lists the labels that distinguish its series; a source's other labels (job, instance) are
	// dropped.
	By []string
}

// SignalPrefix starts every signal's name.
const SignalPrefix = "plimsoll:"

// window replaces $w when it only has to parse: on a timeline, irate is the interval's own rate
// whatever the range.
const window = "1m"

// periodS is the shortest period of CloudWatch's sums in seconds.
const periodS = 60.0

// Over writes an alternative for sums over the given number of seconds, at least a minute.
func Over(expr string, sumsS float64) string {
	return strings.ReplaceAll(expr, "$p", strconv.FormatFloat(max(periodS, sumsS), 'f', -1, 64))
}

var promql = parser.NewParser(parser.Options{})

// parsed caches parsed expressions by their text: a diagnosis needs each of the pack's expressions
// several times, and parsing them took two fifths of its time. parsedMax bounds the cache.
var (
	parsed      sync.Map // of parser.Expr
	parsedNames sync.Map // what Names returns, by parsed expression
	parsedCount atomic.Int64
)

const parsedMax = 10_000

// Parse parses one of a signal's alternatives or a rule's condition. The result is shared: callers
// must not change it.
func Parse(expr string) (parser.Expr, error) {
	if e, ok := parsed.Load(expr); ok {
		return e.(parser.Expr), nil
	}
	e, err := promql.ParseExpr(strings.ReplaceAll(Over(expr, 0), "$w", window))
	if err != nil {
		return nil, fmt.Errorf("PromQL %q: %w", expr, err)
	}
	if parsedCount.Add(1) <= parsedMax {
		parsedNames.Store(e, slices.Clip(names(e))) // callers append
		parsed.Store(expr, e)
	}
	return e, nil
}

// Names are the distinct metric names that an expression reads, in order. A selector without an
// exact name has none. Callers must not change the result.
func Names(e parser.Expr) []string {
	if known, ok := parsedNames.Load(e); ok {
		return known.([]string)
	}
	return names(e)
}

func names(e parser.Expr) []string {
	var out []string
	seen := map[string]bool{}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if sel, ok := n.(*parser.VectorSelector); ok {
			for _, m := range sel.LabelMatchers {
				if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual && !seen[m.Value] {
					seen[m.Value] = true
					out = append(out, m.Value)
				}
			}
		}
		return nil
	})
	return out
}

// Patterns are the regular expressions with which an expression selects metrics that have no exact
// name.
func Patterns(e parser.Expr) []string {
	var out []string
	for _, m := range namePatterns(e) {
		out = append(out, m.Value)
	}
	return out
}

// namePatterns are the matchers with which an expression selects metrics that have no exact name.
func namePatterns(e parser.Expr) []*labels.Matcher {
	var out []*labels.Matcher
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if sel, ok := n.(*parser.VectorSelector); ok {
			for _, m := range sel.LabelMatchers {
				if m.Name == model.MetricNameLabel && m.Type == labels.MatchRegexp {
					out = append(out, m)
				}
			}
		}
		return nil
	})
	return out
}

func replaceName(text, name, by string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, name)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}

		end := i + len(name)
		whole := end == len(text) || !isNameByte(text[end])
		b.WriteString(text[:i])

		if whole {
			b.WriteString(by)
		} else {
			b.WriteString(name)
		}

		text = text[end:]
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c == ':' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
