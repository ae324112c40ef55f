package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// derived answers a condition's selectors from the signals.
type derived struct{ s *signals }

func (d derived) Gauge(sel *parser.VectorSelector) ([]timeline.Track, error) {
	var out []timeline.Track
	for _, t := range d.s.tracks[sel.Name] {
		matches := true
		for _, m := range sel.LabelMatchers {
			if m.Name != model.MetricNameLabel && !m.Matches(t.Labels.Get(m.Name)) {
				matches = false
			}
		}
		if matches {
			out = append(out, t)
		}
	}
	return out, nil
}

func (d derived) Rate(sel *parser.VectorSelector) ([]timeline.Track, error) {
	return nil, fmt.Errorf("signal %s is not a counter", sel.Name)
}

// judge judges one rule. missing names the metrics it would have needed.
func judge(c *rules.Case, sig *signals, rule rules.Rule) (found []Finding, missing []string, err error) {
	if !concerns(c, rule) {
		return nil, nil, nil
	}
	var held []timeline.Track
	if rule.When != "" {
		e, err := rules.Parse(rule.When)
		if err != nil {
			return nil, nil, fmt.Errorf("rule %s: %w", rule.ID, err)
		}
		if held, err = timeline.Eval(c.Grid, e, derived{sig}); err != nil {
			return nil, nil, fmt.Errorf("rule %s: %w", rule.ID, err)
		}
	}
	for _, n := range rule.Needs {
		if !c.Measured(n) {
			missing = append(missing, metricsOf(c.Pack, n))
		}
	}
	if len(rule.AnyOf) > 0 && !slices.ContainsFunc(rule.AnyOf, c.Measured) {
		alts := make([]string, len(rule.AnyOf))
		for i, n := range rule.AnyOf {
			alts[i] = metricsOf(c.Pack, n)
		}
		missing = append(missing, strings.Join(alts, " or "))
	}
	if len(missing) > 0 {
		return nil, missing, nil
	}
	held = slices.DeleteFunc(held, func(t timeline.Track) bool { return timeline.Count(t.Values) == 0 })
	found = rule.Judge(c, held)
	for i := range found {
		if err := rule.Write(&found[i]); err != nil {
			return nil, nil, err
		}
		if found[i].Evidence == nil {
			found[i].Evidence = []Evidence{}
		}
		for k := range found[i].Evidence {
			// When it was is not always known, but never outside what was looked at.
			if e := &found[i].Evidence[k]; e.From.IsZero() || e.To.IsZero() {
				e.From, e.To = c.Whole().From, c.Whole().To
			}
		}
		if found[i].Fixes == nil {
			found[i].Fixes = []Fix{}
		}
	}
	return found, nil, nil
}

// concerns leaves out the rules of other databases than those the sources are of.
func concerns(c *rules.Case, rule rules.Rule) bool {
	return rule.Engine == "" || len(c.Engines) == 0 || slices.Contains(c.Engines, rule.Engine)
}

// metricsOf names what a signal is read from: its alternatives' metrics.
func metricsOf(pack *rules.Pack, signal *rules.Signal) string {
	var alts []string
	for _, x := range pack.Signal(signal.Name).Exprs {
		if e, err := rules.Parse(x); err == nil {
			alts = append(alts, strings.Join(rules.Names(e), " + "))
		}
	}
	return strings.Join(alts, " or ")
}

var kindOrder = map[Kind]int{Cause: 0, Symptom: 1, Refutation: 2}
var severityOrder = map[Severity]int{Critical: 0, Warning: 1, Info: 2}

// weightStep is the difference in weight below which two findings explain as much.
const weightStep = 0.1

// origin puts what a database does before the resource it meets: of two that
// explain as much, the first is why the second happens.
func origin(f Finding) int {
	switch layer, _, _ := strings.Cut(f.Rule, "/"); layer {
	case "disk":
		return 1
	case "host":
		return 2
	}
	return 0
}

// rank orders findings as Compare does.
func rank(f []Finding) { slices.SortStableFunc(f, Compare) }

// Compare orders findings as a report lists them: causes, symptoms, refutations; each by severity,
// then by the share of the stalled time it explains. Of two that explain as much, what a database
// does goes before the resource that it meets: a checkpoint before the volume's limit.
func Compare(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(kindOrder[a.Kind], kindOrder[b.Kind]),
		cmp.Compare(severityOrder[a.Severity], severityOrder[b.Severity]),
		cmp.Compare(math.Round(b.Weight/weightStep), math.Round(a.Weight/weightStep)),
		cmp.Compare(origin(a), origin(b)),
		cmp.Compare(b.Weight, a.Weight),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Subject, b.Subject),
	)
}
