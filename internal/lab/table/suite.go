package table

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/scenario"
)

// A Suite is what an error table is made of: scenarios to run, and what was advised about some of
// them.
type Suite struct {
	Runs   []Run    `yaml:"runs"`
	Advice []Advice `yaml:"advice"`
}

// A Run is a scenario of a suite.
type Run struct {
	// Name is what advice and measurements know it by: "wiredtiger-journal".
	Name string `yaml:"name"`
	// Title is how the table calls it; empty: the scenario's name.
	Title string `yaml:"title"`
	// Scenario is its file, below the suite's folder.
	Scenario string `yaml:"scenario"`
	// Set are assignments over it, as --set takes them.
	Set []string `yaml:"set"`
}

// Advice is a published claim: doing this makes that figure better.
type Advice struct {
	// Says is the advice in a clause: "a volume of its own for the journal".
	Says string `yaml:"says" json:"says"`
	// Case is the casebook's case that it is from; empty: none.
	Case string `yaml:"case" json:"case"`
	// Source is who says so, and when.
	Source string `yaml:"source" json:"source"`
	// Claim is what was said of it: "p99 200 to 25 ms".
	Claim string `yaml:"claim" json:"claim"`
	// Before and After are names of runs.
	Before string `yaml:"before" json:"run_before"`
	After  string `yaml:"after" json:"run_after"`
	// Figure is the row of the table that is to change: "write p99".
	Figure string `yaml:"figure" json:"figure"`
}

// SuiteFile is what a folder's suite is called.
const SuiteFile = "suite.yaml"

// Bounds of a suite.
const (
	suiteBytesMax = 1 << 20
	runsMax       = 200
)

// ReadSuite reads suite.yaml of a folder. The error names the file and what is wrong with it.
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

// check finds what decoding does not.
func (s *Suite) check() diagnostics.List {
	var l diagnostics.List
	if len(s.Runs) == 0 || len(s.Runs) > runsMax {
		l.Addf("runs", "%d of them: a suite has 1 to %d", len(s.Runs), runsMax)
		return l
	}
	var names []string
	for i, r := range s.Runs {
		field := fmt.Sprintf("runs[%d]", i)
		switch {
		case r.Name == "" || slices.Contains(names, r.Name):
			l.Addf(field+".name", "%q: each run needs a name of its own", r.Name)
		case !fs.ValidPath(r.Scenario):
			l.Addf(field+".scenario", "%q is no file below the suite's folder", r.Scenario)
		}
		names = append(names, r.Name)
	}
	for i, a := range s.Advice {
		field := fmt.Sprintf("advice[%d]", i)
		for _, end := range []struct{ key, name string }{{"before", a.Before}, {"after", a.After}} {
			if !slices.Contains(names, end.name) {
				l.Addf(field+"."+end.key, "no run is called %q: there are %s", end.name, strings.Join(names, ", "))
			}
		}
		if a.Says == "" || a.Figure == "" {
			l.Addf(field, "what it says, and the figure that is to change, are needed")
		}
	}
	return l
}

// Open reads the scenario of a run from the suite's folder.
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

// A Verdict is what became of advice.
type Verdict struct {
	Advice
	// Before and After are the rows of the figure; nil where they were not measured.
	Before *Row  `json:"before"`
	After  *Row  `json:"after"`
	Holds  Holds `json:"holds"`
}

// Holds is a verdict in a word.
type Holds string

// The verdicts.
const (
	Better  Holds = "holds"
	Nothing Holds = "changes nothing here"
	Worse   Holds = "makes it worse"
	Unknown Holds = "not measured"
)

// differs is the factor from where on two figures are taken to differ (assumed: most of what was
// measured was run once, and single runs of a p99 were seen to come out a third larger or smaller).
const differs = 1.5

// Asks says whether some advice is about a run.
func (s *Suite) Asks(run string) bool {
	return slices.ContainsFunc(s.Advice, func(a Advice) bool { return a.Before == run || a.After == run })
}

// Verdicts judge a suite's advice by rows, which are of all its runs.
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

// judge compares what the lab measured. More operations a second are better, more of the others
// worse.
func judge(before, after *Row) Holds {
	if before.Lab == nil || after.Lab == nil || *before.Lab <= 0 || *after.Lab <= 0 {
		return Unknown
	}
	gain := *before.Lab / *after.Lab
	if before.Kind == Rate {
		gain = 1 / gain
	}
	switch {
	case math.Max(gain, 1/gain) < differs || overlap(before, after):
		return Nothing
	case gain > 1:
		return Better
	}
	return Worse
}

// overlap says whether some run before was as good as some run after.
func overlap(a, b *Row) bool { return a.LabLow <= b.LabHigh && b.LabLow <= a.LabHigh }
