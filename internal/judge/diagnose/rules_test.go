package diagnose_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// underRace says that the race detector is on.
var underRace bool

// Each rule has a script testdata/<id, / as ->.test of at least three
// cases. A case starts with a line
//
//	# case: positive|negative|not-measurable: what it shows
//
// and is a promqltest script: load lines, then eval lines in which {{when}} stands for
// the rule's condition written over exporters' metrics, as it is exported to a
// Prometheus server. So the condition is judged by Prometheus' own engine. The same
// data is then diagnosed as a whole, and the directives of the case are checked:
//
//	# finding: TEXT      the rule has a finding whose subject, summary, evidence or fixes contain TEXT
//	# severity: critical the rule's first finding has it
//	# no finding         the rule finds nothing (and could be judged)
//	# missing: METRIC    the rule is not measurable and names METRIC
func TestRules(t *testing.T) {
	if underRace {
		t.Skip("some hundred diagnoses one after another; made without the race detector")
	}
	for _, r := range pack.Rules() {
		t.Run(strings.ReplaceAll(r.ID, "/", "-"), func(t *testing.T) {
			cases, err := readCases(r.ID)
			if err != nil {
				t.Fatalf("every rule has a script: %v", err)
			}
			kinds := map[string]int{}
			for _, c := range cases {
				kinds[c.kind]++
				t.Run(c.kind, func(t *testing.T) { runCase(t, r, c) })
			}
			for _, k := range []string{"positive", "negative"} {
				if kinds[k] == 0 {
					t.Errorf("%s has no %s case", r.ID, k)
				}
			}
			if kinds["not-measurable"] == 0 && (len(r.Needs) > 0 || r.Needs == nil || len(r.AnyOf) > 0) {
				t.Errorf("%s has no not-measurable case", r.ID)
			}
		})
	}
}

type ruleCase struct {
	kind, title string
	line        int
	loads       []string
	script      []string
	directives  []string
}

func readCases(id string) ([]ruleCase, error) {
	f, err := pack.Script(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []ruleCase
	sc := bufio.NewScanner(f)
	loading := false
	for n := 1; sc.Scan(); n++ {
		line := sc.Text()
		if rest, ok := strings.CutPrefix(line, "# case: "); ok {
			kind, title, _ := strings.Cut(rest, ": ")
			out = append(out, ruleCase{kind: strings.TrimSpace(kind), title: title, line: n})
			continue
		}
		if len(out) == 0 {
			continue
		}
		c := &out[len(out)-1]
		switch {
		case strings.HasPrefix(line, "# "):
			c.directives = append(c.directives, strings.TrimPrefix(line, "# "))
			continue
		case strings.HasPrefix(line, "load"):
			loading = true
		case strings.HasPrefix(line, "eval"):
			loading = false
		}
		if loading {
			c.loads = append(c.loads, line)
		}
		c.script = append(c.script, line)
	}
	return out, sc.Err()
}

func runCase(t *testing.T, r rules.Rule, c ruleCase) {
	t.Helper()
	if r.When != "" {
		when, err := pack.Inline(r.When, "5s")
		if err != nil {
			t.Fatal(err)
		}
		script := strings.ReplaceAll(strings.Join(c.script, "\n"), "{{when}}", when)
		promqltest.RunTest(t, script, promqltest.NewTestEngine(t, false, 2500*time.Millisecond, 50_000_000))
	}
	mem := fromScript(t, strings.Join(c.loads, "\n"))
	report, err := diagnose.Run(context.Background(), []recording.Reader{mem}, diagnose.Options{Pack: pack})
	if err != nil && !strings.Contains(err.Error(), "nothing to diagnose") {
		t.Fatalf("case at line %d: %v", c.line, err)
	}
	for _, d := range c.directives {
		if err := holds(r.ID, report, d); err != nil {
			t.Errorf("case at line %d (%s): %v\n%s", c.line, c.title, err, outline(report))
		}
	}
}

func holds(id string, r *diagnose.Report, directive string) error {
	var found []diagnose.Finding
	var missing []string
	if r != nil {
		for _, f := range r.Findings {
			if f.Rule == id {
				found = append(found, f)
			}
		}
		for _, m := range r.Missing {
			if m.Rule == id {
				missing = m.Missing
			}
		}
	}
	word, text, _ := strings.Cut(directive, ": ")
	switch word {
	case "finding":
		for _, f := range found {
			if strings.Contains(textOf(f), text) {
				return nil
			}
		}
		return fmt.Errorf("no finding of %s contains %q; it found %d", id, text, len(found))
	case "severity":
		if len(found) == 0 || string(found[0].Severity) != text {
			return fmt.Errorf("severity is not %q", text)
		}
	case "no finding":
		if len(found) > 0 {
			return fmt.Errorf("%s found: %s", id, textOf(found[0]))
		}
		if len(missing) > 0 {
			return fmt.Errorf("%s was not measurable: %v", id, missing)
		}
	case "missing":
		if !strings.Contains(strings.Join(missing, " "), text) {
			return fmt.Errorf("%s does not miss %q but %v", id, text, missing)
		}
		if len(found) > 0 {
			return errors.New("not measurable, and yet a finding")
		}
	default:
		return fmt.Errorf("no such directive: %q", directive)
	}
	return nil
}

func textOf(f diagnose.Finding) string {
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

func outline(r *diagnose.Report) string {
	if r == nil {
		return "no report"
	}
	var b strings.Builder
	fmt.Fprintln(&b, r.Verdict)
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s %s %.2f: %s\n", f.Kind, f.Severity, f.Rule, f.Weight, textOf(f))
	}
	for _, m := range r.Missing {
		fmt.Fprintf(&b, "not measurable %s: %v\n", m.Rule, m.Missing)
	}
	return b.String()
}

// fromScript makes a recording of a promqltest script's load lines.
func fromScript(t *testing.T, loads string) *recording.Memory {
	t.Helper()
	st := promqltest.LoadedStorage(t, loads)
	defer st.Close()
	q, err := st.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	mem := recording.NewMemory(recording.MemoryOptions{})
	set := q.Select(context.Background(), true, nil, labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".+"))
	for set.Next() {
		s := set.At()
		b := recording.Batch{Columns: []recording.Column{{Labels: s.Labels()}}}
		it := s.Iterator(nil)
		for it.Next() == chunkenc.ValFloat {
			ts, v := it.At()
			b.TimesMs = append(b.TimesMs, ts)
			b.Columns[0].Values = append(b.Columns[0].Values, v)
		}
		if len(b.TimesMs) > 0 {
			if err := mem.Append(context.Background(), &b); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return mem
}
