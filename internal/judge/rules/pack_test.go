package rules_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/engine"
	"plimsoll/internal/engine/parts"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
	"plimsoll/internal/testkit"
)

// Every rule's words and advice are templates, and none is empty.
func TestWordsOfRules(t *testing.T) {
	for _, r := range testkit.Pack().Rules() {
		if err := r.CheckWords(); err != nil {
			t.Errorf("%s: %v", r.ID, err)
		}
	}
}

// Every signal has a unit and a help text, and its alternatives parse and can be computed on a
// grid.
func TestSignals(t *testing.T) {
	units := []string{"ratio", "seconds", "bytes", "bytes/s", "1/s", "s/s", ""}
	for _, s := range testkit.Pack().Signals() {
		t.Run(s.Name, func(t *testing.T) {
			if !strings.HasPrefix(s.Name, rules.SignalPrefix) {
				t.Errorf("the name does not start with %q", rules.SignalPrefix)
			}

			if s.Help == "" || !slices.Contains(units, s.Unit) {
				t.Errorf("help %q, unit %q: want a help text and one of the units %q", s.Help, s.Unit, units)
			}

			if len(s.Exprs) == 0 {
				t.Error("no expression to read it from")
			}

			for _, x := range s.Exprs {
				e, err := rules.Parse(x)
				if err != nil {
					t.Error(err)
					continue
				}

				if e.Type() != parser.ValueTypeVector {
					t.Errorf("%s has type %s, want a vector", x, e.Type())
				}

				for _, n := range rules.Names(e) {
					if strings.HasPrefix(n, rules.SignalPrefix) {
						t.Errorf("%s reads a signal; signals read exporters' metrics", x)
					}
				}

				g := timeline.Grid{StepMs: 1000, N: 3}
				if _, err := timeline.Eval(g, e, nothing{}); errors.Is(err, timeline.ErrUnsupported) {
					t.Errorf("%s cannot be computed on a grid: %v", x, err)
				}
			}
		})
	}
}

// nothing is a source without any series.
type nothing struct{}

func (nothing) Each(*parser.VectorSelector, bool, func(timeline.Track) error) error { return nil }

// Every metric that a signal reads is one that the sources keep.
func TestWantedCoversSignals(t *testing.T) {
	wanted := testkit.Pack().Wants
	for _, s := range testkit.Pack().Signals() {
		for _, x := range s.Exprs {
			e, err := rules.Parse(x)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range rules.Names(e) {
				if !wanted(n) {
					t.Errorf("%s reads %s, which is not wanted", s.Name, n)
				}
			}
		}
	}

	if wanted("go_goroutines") {
		t.Error("go_goroutines is wanted, but no signal reads it")
	}
}

// Rules use the same database names as recordings and scenarios.
func TestEngineNamesMatchRegistry(t *testing.T) {
	for _, e := range testkit.Pack().Engines() {
		known := func(x *parts.Engine) bool {
			return x.Database == e.Database && x.Product == e.Product
		}
		if !slices.ContainsFunc(engine.All(), known) {
			t.Errorf("%s (%s) is not the name of an engine", e.Database, e.Product)
		}
	}
}

func TestRulesAreWellFormed(t *testing.T) {
	id := regexp.MustCompile(`^[a-z]+/[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, r := range testkit.Pack().Rules() {
		t.Run(strings.ReplaceAll(r.ID, "/", "-"), func(t *testing.T) {
			if !id.MatchString(r.ID) || seen[r.ID] {
				t.Errorf("id %q: want family/name in lower case, unique in the pack", r.ID)
			}

			seen[r.ID] = true
			if r.Title == "" || r.Cause == "" || r.Judge == nil {
				t.Error("a rule needs a title, a cause and a judge")
			}

			if strings.HasSuffix(r.Title, ".") || !strings.HasSuffix(r.Cause, ".") && !strings.HasSuffix(r.Cause, ".)") {
				t.Errorf("title %q, cause %q: want a title that is not a sentence and a cause that is", r.Title, r.Cause)
			}

			if !slices.Contains([]rules.Kind{rules.Cause, rules.Symptom, rules.Refutation}, r.Kind) {
				t.Errorf("kind %q", r.Kind)
			}

			for _, n := range slices.Concat(r.Needs, r.AnyOf) {
				if testkit.Pack().Signal(n.Name) == nil {
					t.Errorf("needs %s, which is not a signal", n.Name)
				}
			}

			checkWhen(t, r)
			if got, err := testkit.Pack().Rule(r.ID); err != nil || got.ID != r.ID {
				t.Errorf("ByID(%q) = %q, %v", r.ID, got.ID, err)
			}
		})
	}

	if _, err := testkit.Pack().Rule("disk/no-such-rule"); err == nil || !strings.Contains(err.Error(), "rules list") {
		t.Errorf("ByID of an unknown rule: %v; want an error that says where to look", err)
	}
}

// checkWhen asserts that a condition uses known signals, can be computed on a grid and can be
// written as PromQL over exporters' metrics.
func checkWhen(t *testing.T, r rules.Rule) {
	t.Helper()
	if r.When == "" {
		return // judged by what the sources report, not by series
	}

	e, err := rules.Parse(r.When)
	if err != nil {
		t.Fatal(err)
	}

	names := rules.Names(e)
	if len(names) == 0 {
		t.Error("the condition reads no signal")
	}

	for _, n := range names {
		if testkit.Pack().Signal(n) == nil {
			t.Errorf("the condition reads %s, which is not a signal", n)
		}
	}

	if _, err := timeline.Eval(timeline.Grid{StepMs: 1000, N: 3}, e, nothing{}); err != nil {
		t.Errorf("the condition cannot be computed on a grid: %v", err)
	}

	inlined, err := testkit.Pack().Inline(r.When, "1m")
	if err != nil {
		t.Fatal(err)
	}

	e, err = rules.Parse(inlined)
	if err != nil {
		t.Fatalf("inlined over exporters' metrics: %v", err)
	}

	for _, n := range rules.Names(e) {
		if strings.HasPrefix(n, rules.SignalPrefix) {
			t.Errorf("%s is left in %s", n, inlined)
		}
	}

	if strings.Contains(inlined, "$w") {
		t.Errorf("a range is left open in %s", inlined)
	}
}

func TestInlineRefusesUnknownSignals(t *testing.T) {
	if got, err := testkit.Pack().Inline("plimsoll:no_such:thing > 1", "1m"); err == nil {
		t.Errorf("Inline gave %q", got)
	}
}

var headings = []string{"## Symptom", "## Cause", "## How we know", "## Fix", "## Trade-off", "## Sources"}

// Every rule has a page and every page a rule. Every page has the same headings, with text under each.
func TestPages(t *testing.T) {
	root := "../../.."
	pages, err := filepath.Glob(filepath.Join(root, "docs", "rules", "*.md"))
	if err != nil {
		t.Fatal(err)
	}

	orphans := map[string]bool{}
	for _, p := range pages {
		orphans[filepath.Base(p)] = true
	}

	delete(orphans, "README.md")
	delete(orphans, "coverage.md")

	for _, r := range testkit.Pack().Rules() {
		t.Run(strings.ReplaceAll(r.ID, "/", "-"), func(t *testing.T) {
			delete(orphans, filepath.Base(r.Docs()))
			b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(r.Docs())))
			if err != nil {
				t.Fatalf("every rule has a page: %v", err)
			}
			checkPage(t, r, string(b))
		})
	}

	for p := range orphans {
		t.Errorf("docs/rules/%s belongs to no rule in the pack", p)
	}
}

func checkPage(t *testing.T, r rules.Rule, page string) {
	t.Helper()
	lines := strings.Split(page, "\n")
	if want := "# " + r.Title + " (" + r.ID + ")"; lines[0] != want {
		t.Errorf("the first line is %q, want %q", lines[0], want)
	}

	var found []string
	text, fenced := 0, false
	for _, line := range lines[1:] {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		switch {
		case !fenced && strings.HasPrefix(line, "## "):
			if len(found) > 0 && text == 0 {
				t.Errorf("nothing under %q", found[len(found)-1])
			}
			found, text = append(found, line), 0
		case strings.TrimSpace(line) != "":
			text++
		}
	}

	if fenced {
		t.Error("a code block is not closed")
	}

	if text == 0 {
		t.Error("nothing under the last heading")
	}

	if !slices.Equal(found, headings) {
		t.Errorf("headings %q, want %q", found, headings)
	}
}
