// Package casebook walks through published cases from symptom to trade-off, and compares the models with
// the published figures.
//
// A case is a folder: case.yaml describes the case in steps (symptom, cause, benchmark, fix, proof,
// trade-off) with the published figures, and scenario.yaml is the deployment as a [scenario]. Variants are
// the same scenario with some values changed. Walking a case simulates every variant, diagnoses the
// recording of the first, and prints each published figure next to the model's, with the deviation. Then
// plan finds the cheapest layout that meets the case's objective, emit writes its files, and prove compares
// recordings from before and after. Models are never calibrated to a published figure. Some published
// figures are wrong, and the case states which, why, and what the model finds instead.
//
// Five cases are embedded; any folder of the same structure can be walked too.
package casebook

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

//go:embed cases
var embedded embed.FS

// A Case is a published case as read from its case.yaml.
type Case struct {
	engines []database.With[plan.Profiler] // that plans support

	// Name is the name of its folder.
	Name string `yaml:"-" json:"name"`
	// Title is a title on one line.
	Title string `yaml:"title" json:"title"`
	// Published describes who runs what, and where, according to the publication.
	Published string `yaml:"published" json:"published"`
	// Assumed lists what the scenario assumes because the publication does not state it.
	Assumed []string `yaml:"assumed" json:"assumed"`
	// Calibrated lists the model's parameters that were set from these very figures; empty: none, so each
	// deviation is the model's error.
	Calibrated string `yaml:"calibrated" json:"calibrated,omitempty"`
	// Variants are the variants to simulate; the first is the one that stalled.
	Variants []Variant `yaml:"variants" json:"variants"`
	// Steps are the steps of the case.
	Steps []Step `yaml:"steps" json:"steps"`
	// Corrections are published claims that are wrong.
	Corrections []Correction `yaml:"corrections" json:"corrections"`
	// Server is the measured effect of the published advice on the storage engine alone and on a whole
	// server.
	Server []Advised `yaml:"server" json:"server,omitempty"`
	// Layout, if not nil, configures the end of the case: a plan, its files and a proof.
	Layout *PlanSettings `yaml:"layout" json:"layout,omitempty"`

	scenario []byte // scenario.yaml
}

// A Variant is the case's scenario with some values changed.
type Variant struct {
	Name  string `yaml:"name" json:"name"`
	About string `yaml:"about" json:"about"`
	// Set are assignments in the syntax of --set: "volumes.data.iops=16000".
	Set []string `yaml:"set" json:"set,omitempty"`
}

// A Step is one part of a case.
type Step struct {
	Step    string   `yaml:"step" json:"step"`
	Text    string   `yaml:"text" json:"text"`
	Figures []Figure `yaml:"figures" json:"figures,omitempty"`
}

// arc are the possible steps of a case, in order.
var arc = []string{"symptom", "cause", "benchmark", "fix", "proof", "trade-off"}

// A Figure is a published number and the position of the model's figure.
type Figure struct {
	Name string `yaml:"name" json:"name"`
	// Variant is the figure's variant; empty: the first.
	Variant string `yaml:"variant" json:"variant,omitempty"`
	// Published is the figure, or both ends of a range, in Unit; nil: only modelled, not published.
	Published []float64 `yaml:"published" json:"published,omitempty"`
	// Unit is "seconds", "bytes", "bytes/s", "1/s", "ratio", "USD/month", or none.
	Unit string `yaml:"unit" json:"unit,omitempty"`
	// Model is the position in the JSON of a simulation's result: "writes.all.p99_seconds". Two
	// positions with " / " or " - " between are divided or subtracted; "variant:" before a position
	// takes it from that variant. Empty: not modelled, for the reason in Note.
	Model string `yaml:"model" json:"model,omitempty"`
	Note  string `yaml:"note" json:"note,omitempty"`
}

// An Advised is a piece of published advice with its verdicts.
type Advised struct {
	Advice string `yaml:"advice" json:"advice"`
	// Engine and Server are its effects on the storage engine alone and on a whole server.
	Engine string `yaml:"engine" json:"engine"`
	Server string `yaml:"server" json:"server"`
}

// A Correction is a published claim that is wrong.
type Correction struct {
	Claim string `yaml:"claim" json:"claim"`
	Truth string `yaml:"truth" json:"truth"`
	// Figures, if any, are the model's figures about the claim.
	Figures []Figure `yaml:"figures" json:"figures,omitempty"`
}

// Names lists the embedded cases in their order.
func Names() []string {
	entries, err := fs.ReadDir(embedded, "cases")
	if err != nil {
		panic(err) // embedded: a build without the folder does not compile
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimLeft(e.Name(), "0123456789-"))
	}
	return names
}

// Open returns an embedded case by its name or its number, counted from 1. engines are those that plans
// support. The error lists the cases.
func Open(name string, engines []database.With[plan.Profiler]) (*Case, error) {
	entries, err := fs.ReadDir(embedded, "cases")
	if err != nil {
		return nil, fmt.Errorf("the casebook: %w", err)
	}

	for i, e := range entries {
		bare := strings.TrimLeft(e.Name(), "0123456789-")
		if name == bare || name == e.Name() || name == fmt.Sprint(i+1) {
			sub, err := fs.Sub(embedded, path.Join("cases", e.Name()))
			if err != nil {
				return nil, fmt.Errorf("case %s: %w", bare, err)
			}
			return Read(sub, bare, engines)
		}
	}

	return nil, fmt.Errorf("unknown case %q: want one of %s", name, strings.Join(Names(), ", "))
}

// file returns the case's scenario.
func (c *Case) file(in *scenario.Language) *scenario.File {
	return in.NewFile(c.Name+"/scenario.yaml", c.scenario)
}

// fileBytesMax bounds a file of a case.
const fileBytesMax = 1 << 20

// variantsMax bounds the number of simulations of a case.
const variantsMax = 32

// Read reads a case from its folder, like [Open]. The error names the file and, if possible, the line.
func Read(folder fs.FS, name string, engines []database.With[plan.Profiler]) (*Case, error) {
	text, err := readBounded(folder, "case.yaml")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}

	// Check nesting and anchors first: the YAML library is not safe for untrusted input.
	if err := yamltree.Check(name+"/case.yaml", text); err != nil {
		return nil, err
	}

	c := &Case{Name: name, engines: engines}
	if err := yaml.UnmarshalWithOptions(text, c, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s/case.yaml: %w", name, err)
	}

	if c.scenario, err = readBounded(folder, "scenario.yaml"); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}

	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s/case.yaml: %w", name, err)
	}

	return c, nil
}

func readBounded(folder fs.FS, file string) ([]byte, error) {
	f, err := folder.Open(file)
	if err != nil {
		return nil, fmt.Errorf("a case is a folder with case.yaml and scenario.yaml: %w", err)
	}
	defer f.Close()
	// limit the read itself: the size of a device may be 0
	text, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if err == nil && len(text) > fileBytesMax {
		err = fmt.Errorf("%s: larger than 1 MiB", file)
	}
	return text, err
}

// check finds errors that decoding does not: missing variants, and invalid positions.
func (c *Case) check() error {
	if c.Layout != nil {
		if len(c.Layout.Objective) == 0 {
			return errors.New("layout: objective is missing")
		}
		if _, err := c.Layout.options(c.engines); err != nil {
			return err
		}
	}

	if len(c.Variants) == 0 || len(c.Variants) > variantsMax {
		return fmt.Errorf("variants: want 1 to %d", variantsMax)
	}

	seen := map[string]bool{}
	for i, v := range c.Variants {
		if v.Name == "" || seen[v.Name] {
			return fmt.Errorf("variants[%d]: name missing or duplicate", i)
		}
		seen[v.Name] = true
	}

	var figures []Figure
	for i, s := range c.Steps {
		if !slices.Contains(arc, s.Step) {
			return fmt.Errorf("steps[%d]: unknown step %q: want one of %s", i, s.Step, strings.Join(arc, ", "))
		}
		figures = append(figures, s.Figures...)
	}

	// Corrections have figures too, with the same rules.
	for _, k := range c.Corrections {
		figures = append(figures, k.Figures...)
	}

	for _, f := range figures {
		if err := c.checkFigure(f, seen); err != nil {
			return fmt.Errorf("figure %q: %w", f.Name, err)
		}
	}

	return nil
}

func (c *Case) checkFigure(f Figure, variants map[string]bool) error {
	switch {
	case f.Variant != "" && !variants[f.Variant]:
		return fmt.Errorf("unknown variant %q", f.Variant)
	case slices.ContainsFunc(f.Published, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }):
		return errors.New("published is not a number")
	case len(f.Published) > 2:
		return errors.New("published: want one number, or both ends of a range")
	case f.Model == "" && f.Note == "":
		return errors.New("without a model figure, it needs a note with the reason")
	case f.Model == "":
		return nil
	}

	e, err := parsePlace(f.Model)
	if err != nil {
		return err
	}

	for _, p := range e.places {
		if p.variant != "" && !variants[p.variant] {
			return fmt.Errorf("unknown variant %q", p.variant)
		}
	}

	return nil
}
