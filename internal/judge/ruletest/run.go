package ruletest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
)

// A Failure says how the result of a case differs from the expected one.
type Failure struct {
	Line int
	Text string
}

// conditionRange is the range of conditions in scripts, and lookback how old the last sample may
// be. The pack's own tests use both.
const (
	conditionRange = "5s"
	lookback       = 2500 * time.Millisecond
)

// Run runs one case: it evaluates the evals with PromQL, then runs a full diagnosis for the
// directives.
func (s *Script) Run(ctx context.Context, script *Case) ([]Failure, error) {
	mem := recording.NewMemory(recording.MemoryOptions{})
	for _, x := range script.series {
		b := &recording.Batch{Columns: []recording.Column{{Labels: x.Labels}}}
		for i, v := range x.Values {
			if math.IsNaN(v) {
				continue // no sample
			}
			b.TimesMs = append(b.TimesMs, int64(i)*x.Step.Milliseconds())
			b.Columns[0].Values = append(b.Columns[0].Values, v)
		}

		if len(b.TimesMs) == 0 {
			continue
		}

		if err := mem.Append(ctx, b); err != nil {
			return nil, &Error{Name: s.Name, Line: script.Line, Err: err}
		}
	}

	var out []Failure
	for _, e := range script.evals {
		text, err := s.evaluate(ctx, mem, e)
		if err != nil {
			return nil, &Error{Name: s.Name, Line: e.line, Err: err}
		}
		if text != "" {
			out = append(out, Failure{e.line, text})
		}
	}

	// Cases of several servers are judged one by one, as fleet does.
	judge := diagnose.Run
	if slices.Contains(script.directives, eachServer) {
		judge = diagnose.Each
	}

	report, err := judge(ctx, []recording.Reader{mem}, diagnose.Options{Pack: s.pack})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}

	switch {
	case errors.Is(err, diagnose.ErrNothing): // some cases test this
		report = &diagnose.Report{}
	case err != nil:
		return nil, &Error{Name: s.Name, Line: script.Line, Err: err}
	}

	for _, d := range script.directives {
		if text := holds(s.Rule.ID, report, d); text != "" {
			out = append(out, Failure{script.Line, text})
		}
	}

	return out, nil
}

// near is the relative tolerance of values.
const near = 1e-5

func (s *Script) evaluate(ctx context.Context, mem *recording.Memory, e eval) (string, error) {
	expr := e.expr
	if strings.Contains(expr, when) {
		condition, err := s.pack.Inline(s.Rule.When, conditionRange)
		if err != nil {
			return "", err
		}
		expr = strings.ReplaceAll(expr, when, condition)
	}

	at := time.UnixMilli(e.at.Milliseconds())
	got, err := mem.Range(ctx, expr, at, at, time.Second, lookback)
	if err != nil {
		return "", err
	}

	if len(got) != len(e.want) {
		return fmt.Sprintf("at %s %s gives %s, want %s", e.at, e.expr, count(len(got)), count(len(e.want))), nil
	}

	for _, w := range e.want {
		found := false
		for _, g := range got {
			found = found || labels.Equal(g.Labels, w.labels) && len(g.Points) > 0 && same(g.Points[0].F, w.value)
		}
		if !found {
			return fmt.Sprintf("at %s %s gives %s %g, want %s %g", e.at, e.expr, got[0].Labels, got[0].Points[0].F,
				w.labels, w.value), nil
		}
	}

	return "", nil
}

func same(a, b float64) bool {
	return a == b || math.Abs(a-b) <= near*max(math.Abs(a), math.Abs(b)) || a != a && b != b
}

func count(n int) string {
	switch n {
	case 0:
		return "nothing"
	case 1:
		return "one series"
	}
	return fmt.Sprintf("%d series", n)
}

// holds says why a directive does not hold; "" if it does.
func holds(id string, report *diagnose.Report, directive string) string {
	var found []diagnose.Finding
	for _, one := range report.All() {
		for _, f := range one.Findings {
			if f.Rule == id {
				found = append(found, f)
			}
		}
	}

	var missing []string
	for _, m := range report.Missing {
		if m.Rule == id {
			missing = m.Missing
		}
	}

	word, text, _ := strings.Cut(directive, ": ")
	switch {
	case word == "finding":
		for _, f := range found {
			if strings.Contains(Words(f), text) {
				return ""
			}
		}
		if len(found) == 0 {
			return fmt.Sprintf("no finding, want one that contains %q; the verdict is: %s", text, report.Verdict)
		}
		return fmt.Sprintf("no finding contains %q; the first is: %s", text, found[0].Summary)
	case word == "omits" && len(found) == 0:
		return fmt.Sprintf("no finding, want one without %q; the verdict is: %s", text, report.Verdict)
	case word == "omits" && slices.ContainsFunc(found, func(f diagnose.Finding) bool {
		return strings.Contains(Words(f), text)
	}):
		return fmt.Sprintf("a finding contains %q", text)
	case word == "severity" && (len(found) == 0 || string(found[0].Severity) != text):
		return fmt.Sprintf("the first finding is not %s", text)
	case word == "no finding" && len(found) > 0:
		return "got a finding, want none: " + found[0].Summary
	case word == "no finding" && len(missing) > 0:
		return "not measurable: missing " + strings.Join(missing, ", ")
	case word == "missing" && (len(found) > 0 || !strings.Contains(strings.Join(missing, " "), text)):
		return fmt.Sprintf("missing metrics are %q, want %q", missing, text)
	}

	return ""
}

// Words returns all texts of a finding, one per line.
func Words(f diagnose.Finding) string {
	parts := []string{f.Subject, f.Summary}
	for _, e := range f.Evidence {
		v := ""
		if e.Value != nil {
			v = fmt.Sprintf(" %.4g %s", *e.Value, e.Unit)
		}
		parts = append(parts, e.Text+v)
	}
	for _, x := range f.Fixes {
		parts = append(parts, x.Summary, x.Expect, x.TradeOff)
	}
	return strings.Join(parts, "\n")
}
