package table

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/scenario"
)

// A Suite is the input of an error table: scenarios to run, and published advice about some of
// them.
type Suite struct {
	Runs   []Run    `yaml:"runs"`
	Advice []Advice `yaml:"advice"`
}

// A Run is a scenario of a suite.
type Run struct {
	// Name identifies it in advice and measurements: "wiredtiger-journal".
	Name string `yaml:"name"`
	// Title is its title in the table; empty: the scenario's name.
	Title string `yaml:"title"`
	// Scenario is its file, relative to the suite's folder.
	Scenario string `yaml:"scenario"`
	// Set are assignments over it, in the format of --set.
	Set []string `yaml:"set"`
}

// Advice is a published claim that a change improves a figure.
type Advice struct {
	// Says is the advice as a phrase: "a separate volume for the journal".
	Says string `yaml:"says" json:"says"`
	// Case is the case in the casebook that it comes from; empty: none.
	Case string `yaml:"case" json:"case"`
	// Source is who published it, and when.
	Source string `yaml:"source" json:"source"`
	// Claim is the published effect: "p99 200 to 25 ms".
	Claim string `yaml:"claim" json:"claim"`
	// Before and After are names of runs.
	Before string `yaml:"before" json:"run_before"`
	After  string `yaml:"after" json:"run_after"`
	// Figure is the row of the table that should change: "write p99".
	Figure string `yaml:"figure" json:"figure"`
}

// SuiteFile is the name of the suite's file in its folder.
const SuiteFile = "suite.yaml"

// Bounds of a suite.
const (
	suiteBytesMax = 1 << 20
	runsMax       = 200
)

// ReadSuite reads suite.yaml in a folder.
func ReadSuite(folder fs.FS) (*Suite, error) {
	text, err := readBounded(folder, SuiteFile, suiteBytesMax)
	if err != nil {
		return nil, err
	}

	if err := yamltree.Check(SuiteFile, text); err != nil {
		return nil, err
	}

	s := &Suite{}
	if err := yaml.UnmarshalWithOptions(text, s, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", SuiteFile, err)
	}

	if err := s.check().Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", SuiteFile, err)
	}

	return s, nil
}

// check reports errors that decoding does not detect.
func (s *Suite) check() inputerror.List {
	var l inputerror.List
	if len(s.Runs) == 0 || len(s.Runs) > runsMax {
		l.Addf("runs", "%d runs: want 1 to %d", len(s.Runs), runsMax)
		return l
	}

	var names []string
	for i, r := range s.Runs {
		field := fmt.Sprintf("runs[%d]", i)
		switch {
		case r.Name == "" || slices.Contains(names, r.Name):
			l.Addf(field+".name", "%q: each run needs a unique name", r.Name)
		case !fs.ValidPath(r.Scenario):
			l.Addf(field+".scenario", "%q is not a file in the suite's folder", r.Scenario)
		}
		names = append(names, r.Name)
	}

	for i, a := range s.Advice {
		field := fmt.Sprintf("advice[%d]", i)
		for _, end := range []struct{ key, name string }{{"before", a.Before}, {"after", a.After}} {
			if !slices.Contains(names, end.name) {
				l.Addf(field+"."+end.key, "no run is called %q; runs: %s", end.name, strings.Join(names, ", "))
			}
		}
		if a.Says == "" || a.Figure == "" {
			l.Addf(field, "says and figure are required")
		}
	}

	return l
}

// Open reads a run's scenario from the suite's folder.
func (r *Run) Open(folder fs.FS, language *scenario.Language) (*scenario.Scenario, error) {
	text, err := readBounded(folder, r.Scenario, suiteBytesMax)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", r.Name, err)
	}
	sc, err := language.Parse(path.Clean(r.Scenario), text, r.Set)
	if err != nil {
		return nil, err
	}
	if r.Title != "" {
		sc.Name = r.Title
	}
	return sc, nil
}

// A Verdict says whether advice held up.
type Verdict struct {
	Advice
	// Before and After are the rows of the figure; nil if not measured.
	Before *Row  `json:"before"`
	After  *Row  `json:"after"`
	Holds  Holds `json:"holds"`
}

// Holds is a verdict as a short phrase.
type Holds string

// The verdicts.
const (
	Better  Holds = "holds"
	Nothing Holds = "changes nothing here"
	Worse   Holds = "makes it worse"
	Unknown Holds = "not measured"
)

// differs is the factor above which two figures count as different. It is an assumption: most
// measurements are single runs, and single runs of a p99 varied by up to a third.
const differs = 1.5

// Asks reports whether any advice is about a run.
func (s *Suite) Asks(run string) bool {
	return slices.ContainsFunc(s.Advice, func(a Advice) bool { return a.Before == run || a.After == run })
}

// Verdicts judges a suite's advice by the rows of all its runs.
func (s *Suite) Verdicts(rows []Row) []Verdict {
	find := func(run, figure string) *Row {
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Run == run && r.Figure == figure })
		if i < 0 {
			return nil
		}
		return &rows[i]
	}

	var out []Verdict
	for _, a := range s.Advice {
		v := Verdict{Advice: a, Before: find(a.Before, a.Figure), After: find(a.After, a.Figure), Holds: Unknown}
		if v.Before != nil && v.After != nil {
			v.Holds = judge(v.Before, v.After)
		}
		out = append(out, v)
	}

	return out
}

// judge compares lab measurements. For operations per second, more is better; for all other
// figures, less.
func judge(before, after *Row) Holds {
	if before.Lab == nil || after.Lab == nil || *before.Lab <= 0 || *after.Lab <= 0 {
		return Unknown
	}

	gain := *before.Lab / *after.Lab
	if before.Kind == Rate {
		gain = 1 / gain
	}

	switch {
	// Both the factor and the ranges must show a difference that chance does not explain.
	case math.Max(gain, 1/gain) < differs || overlap(before, after):
		return Nothing
	case gain > 1:
		return Better
	}

	return Worse
}

// overlap reports whether the ranges of the runs before and after overlap.
func overlap(a, b *Row) bool { return a.LabLow <= b.LabHigh && b.LabLow <= a.LabHigh }
