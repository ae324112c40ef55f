package recording

import (
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// A Selector selects the series that all of its matchers match, as a PromQL instant vector selector does.
type Selector []*labels.Matcher

// ParseSelector reads a PromQL instant vector selector such as `name{label="value"}`. Functions,
// offset, @ and ranges are errors, because raw samples have no evaluation time.
func ParseSelector(text string) (Selector, error) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("selector %q: %w", text, err)
	}
	vector, ok := expr.(*parser.VectorSelector)
	if !ok || vector.OriginalOffset != 0 || vector.Timestamp != nil || vector.StartOrEnd != 0 {
		return nil,
			fmt.Errorf("selector %q: raw samples need a plain selector such as name{label=\"value\"}, without functions, offset, @ or range",
				text)
	}
	return vector.LabelMatchers, nil
}

// MustSelector is [ParseSelector] for a constant: it panics if the text is wrong.
func MustSelector(text string) Selector {
	s, err := ParseSelector(text)
	if err != nil {
		panic(err)
	}
	return s
}

// MetricSelector selects all series of a metric, with any characters in its name.
func MetricSelector(name string) Selector {
	return Selector{labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, name)}
}

// EverySeries selects all series.
func EverySeries() Selector {
	return Selector{labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName, ".+")}
}

// Matches reports whether a series is selected.
func (s Selector) Matches(l labels.Labels) bool {
	for _, m := range s {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

// Accepts reports whether the selector may match series of a metric.
func (s Selector) Accepts(metric string) bool {
	for _, m := range s {
		if m.Name == labels.MetricName && !m.Matches(metric) {
			return false
		}
	}
	return true
}

// String formats the selector so that every version of PromQL supports it.
func (s Selector) String() string {
	parts := make([]string, 0, len(s))
	for _, m := range s {
		parts = append(parts, m.String())
	}
	return "{" + strings.Join(parts, ",") + "}"
}
