package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// derived resolves a condition's selectors to signals.
type derived struct{ s *signals }

// Each implements [timeline.Leaves].
func (d derived) Each(sel *parser.VectorSelector, counter bool, visit func(timeline.Track) error) error {
	if counter {
		return fmt.Errorf("signal %s is not a counter", sel.Name)
	}

	for _, t := range d.s.tracks[sel.Name] {
		other := func(m *labels.Matcher) bool {
			return m.Name != model.MetricNameLabel && !m.Matches(t.Labels.Get(m.Name))
		}
		if slices.ContainsFunc(sel.LabelMatchers, other) {
			continue
		}
		if err := visit(t); err != nil {
			return err
		}
	}
	return nil
}

// holds evaluates a rule's condition over the signals of a recording.
func holds(c *rules.Case, sig *signals, rule rules.Rule) ([]timeline.Track, error) {
	if rule.When == "" {
		return nil, nil
	}
	e, err := rules.Parse(rule.When)
	if err != nil {
		return nil, fmt.Errorf("rule %s: %w", rule.ID, err)
	}
	held, err := timeline.Eval(c.Grid, e, derived{sig})
	if err != nil {
		return nil, fmt.Errorf("rule %s: %w", rule.ID, err)
	}
	return slices.DeleteFunc(held, func(t timeline.Track) bool { return timeline.Count(t.Values) == 0 }), nil
}

// lacks names the metrics that a rule needs but that were not measured.
func lacks(c *rules.Case, rule rules.Rule) (missing []string) {
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
	return missing
}

// unjudged lists the rules that could not be judged, with the metrics they lack.
func unjudged(c *rules.Case, pack *rules.Pack) (out []NotMeasured) {
	for _, rule := range pack.Rules() {
		if !concerns(c, rule) {
			continue
		}
		if missing := lacks(c, rule); len(missing) > 0 {
			out = append(out, NotMeasured{Rule: rule.ID, Missing: missing})
		}
	}
	return out
}

// judgeRules judges the wanted rules on a case, which covers the cells of span, and ranks the
// findings.
func judgeRules(ctx context.Context, c *rules.Case, pack *rules.Pack, conditions []condition,
	span timeline.Episode, wanted func(rules.Rule) bool) (out []Finding, err error) {
	traced := c.Traced()
	for i, rule := range pack.Rules() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !concerns(c, rule) || !conditions[i].known || !wanted(rule) || len(lacks(c, rule)) > 0 ||
			rule.Stalled && !(c.Stall.IsDatabase && c.Stall.Any()) {
			continue
		}
		found, err := judge(c, rule, rules.Cut(conditions[i].held, span.First, span.Last), traced)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}

	rules.Refer(out)

	// A change for the worse did not hold up any client, so nothing about it is critical.
	if c.Change != nil {
		for i := range out {
			if out[i].Severity == Critical {
				out[i].Severity = Warning
			}
		}
	}

	for i, f := range out {
		// A log's stall has a longer name than its engine: "etcd's logged writes".
		same := f.Subject == c.Stall.Subject || c.Stall.Logged
		out[i].Judged = f.Kind == Symptom && f.Rule == c.Stall.Rule && same
	}

	rank(out)
	return out, nil
}

// judge judges one rule in the time its condition held, and compares its findings with a trace.
func judge(c *rules.Case, rule rules.Rule, held []timeline.Track, traced *rules.Traced) (found []Finding,
	err error) {
	for _, f := range rule.Judge(c, held) {
		if err := rule.Write(&f); err != nil {
			return nil, err
		}

		if err := rule.Contradict(c, &f); err != nil {
			return nil, err
		}

		keep, err := rule.Weigh(c, traced, &f)
		if err != nil {
			return nil, err
		}

		if keep {
			found = append(found, f)
		}
	}

	for i := range found {
		if found[i].Evidence == nil {
			found[i].Evidence = []Evidence{}
		}

		for k := range found[i].Evidence {
			// A rule may not record when it saw the evidence, but it was within the case's time.
			if e := &found[i].Evidence[k]; e.From.IsZero() || e.To.IsZero() {
				e.From, e.To = c.Whole().From, c.Whole().To
			}
		}

		if found[i].Fixes == nil {
			found[i].Fixes = []Fix{}
		}
	}

	return found, nil
}

// concerns reports whether a rule applies to the databases in the sources.
func concerns(c *rules.Case, rule rules.Rule) bool {
	return rule.Engine == "" || len(c.Engines) == 0 || slices.Contains(c.Engines, rule.Engine)
}

// metricsOf names the metrics of all alternatives of a signal.
func metricsOf(pack *rules.Pack, signal *rules.Signal) string {
	var alts []string
	for _, x := range pack.Signal(signal.Name).Exprs {
		if e, err := rules.Parse(x); err == nil {
			names := rules.Names(e)
			if len(names) == 0 {
				alts = append(alts, strings.Join(rules.Patterns(e), " or "))
				continue
			}
			alts = append(alts, strings.Join(names, " + "))
		}
	}
	return strings.Join(alts, " or ")
}

var kindOrder = map[Kind]int{Cause: 0, Symptom: 1, Refutation: 2}

// weightStep is the difference in weight below which two findings explain as much.
const weightStep = 0.1

// origin ranks a database's own activity before the resource it runs into: if two findings explain the
// same share, the first causes the second.
func origin(f Finding) int {
	switch layer, _, _ := strings.Cut(f.Rule, "/"); layer {
	case "disk":
		return 1
	case "host":
		return 2
	}
	return 0
}

// foremostWeight is the share of the stalled time above which a finding that explains others is
// listed before them.
const foremostWeight = 0.5

// first orders what a condition holds for before the rest.
func first(holds bool) int {
	if holds {
		return 0
	}
	return 1
}

// foremost reports whether a finding explains others with the same weight.
func foremost(f Finding) bool { return f.Foremost && f.Weight >= foremostWeight }

// rank sorts findings by Compare.
func rank(f []Finding) { slices.SortStableFunc(f, Compare) }

// Compare orders findings as a report lists them: causes, symptoms, refutations; each by severity, then
// by the share of the stalled time it explains, with findings that explain others first. Of two with
// the same share, a database's own activity comes before the resource it runs into: a checkpoint before
// the volume's limit. The symptom that the verdict is about comes before the other symptoms.
func Compare(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(kindOrder[a.Kind], kindOrder[b.Kind]),
		cmp.Compare(first(a.Judged), first(b.Judged)),
		cmp.Compare(a.Severity.Rank(), b.Severity.Rank()),
		cmp.Compare(first(foremost(a)), first(foremost(b))),
		// A finding that shows where clients waited comes after those that show why.
		cmp.Compare(first(!a.Effect), first(!b.Effect)),
		cmp.Compare(math.Round(b.Weight/weightStep), math.Round(a.Weight/weightStep)),
		cmp.Compare(origin(a), origin(b)),
		cmp.Compare(b.Weight, a.Weight),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Subject, b.Subject),
	)
}
