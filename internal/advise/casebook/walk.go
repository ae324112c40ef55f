package casebook

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/prove"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/record/recording"
)

// A Walk is a case with the model's figures. Its JSON is the output of `casebook -o json`.
type Walk struct {
	Version     int                `json:"version"`
	Case        *Case              `json:"case"`
	Steps       []WalkedStep       `json:"steps"`
	Corrections []WalkedCorrection `json:"corrections"`
	// Diagnosis is the diagnosis of the first variant's recording.
	Diagnosis *Diagnosis `json:"diagnosis,omitempty"`
	// Tried is the result of the case's advice on the real engine.
	Tried   []Tried            `json:"tried,omitempty"`
	Results []*simulate.Result `json:"results"`
	// Plan, Files and Proof are the end of the case, if the case has an objective.
	Plan  *Planned      `json:"plan,omitempty"`
	Files []Written     `json:"files,omitempty"`
	Proof *prove.Report `json:"proof,omitempty"`
}

// A Diagnosis is the verdict on a simulated recording, with the causes that it names.
type Diagnosis struct {
	Verdict string   `json:"verdict"`
	Rules   []string `json:"rules"`
}

// A WalkedStep is a step with its figures.
type WalkedStep struct {
	Step    string         `json:"step"`
	Text    string         `json:"text"`
	Figures []WalkedFigure `json:"figures,omitempty"`
}

// A WalkedCorrection is a correction with its figures.
type WalkedCorrection struct {
	Claim   string         `json:"claim"`
	Truth   string         `json:"truth"`
	Figures []WalkedFigure `json:"figures,omitempty"`
}

// A WalkedFigure is a published figure with the model's.
type WalkedFigure struct {
	Figure
	// Got is the model's value; null: none, for the reason in Note.
	Got *float64 `json:"got"`
	// Deviation is (model - published) / published, relative to the nearer end of a published range
	// and 0 within it; null if either is missing.
	Deviation *float64 `json:"deviation"`
}

// Options configure a walk.
type Options struct {
	// Pack has the rules for diagnosing the first variant.
	Pack *rules.Pack
	// Progress, if not nil, is called after each variant, possibly concurrently.
	Progress func(variant string, done, total int)
	// Stage, if not nil, receives the progress of the steps after the variants; total is 0 if unknown.
	Stage func(stage string, done, total int)
	// NoPlan ends the walk before the plan, which takes longer than all variants together.
	NoPlan bool
	// Engines are the engines that the case's scenario may use.
	Engines emit.Engines
	// Series keeps each variant's time series in its result, for plots.
	Series bool
}

// Run simulates a case's variants, one per core concurrently, and reads the case's figures from the
// results. It fails if the scenario is invalid, if a figure's position is not in the result, or if the
// context is cancelled.
func Run(ctx context.Context, published *Case, opt Options) (*Walk, error) {
	walk := &Walk{Version: 1, Case: published, Results: make([]*simulate.Result, len(published.Variants))}
	docs := make([]any, len(published.Variants))
	done := make(chan struct{}, len(published.Variants))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))

	for i, variant := range published.Variants {
		group.Go(func() error {
			var store *recording.Memory

			// Only the first variant stalled, so only it is recorded and diagnosed.
			if i == 0 {
				store = recording.NewMemory(recording.MemoryOptions{})
			}

			r, err := published.simulate(gctx, variant, store, &opt)
			if err != nil {
				return fmt.Errorf("case %s, variant %s: %w", published.Name, variant.Name, err)
			}

			if i == 0 {
				if walk.Diagnosis, err = judge(gctx, opt.Pack, store); err != nil {
					return fmt.Errorf("case %s: diagnosing variant %s: %w", published.Name, variant.Name, err)
				}
			}

			walk.Results[i] = r
			if docs[i], err = decoded(r); err != nil {
				return err
			}

			done <- struct{}{}
			if opt.Progress != nil {
				opt.Progress(variant.Name, len(done), len(published.Variants))
			}

			return nil
		})
	}

	if err := group.Wait(); err != nil {
		return nil, err
	}

	// A figure without a variant belongs to the first one.
	results := map[string]any{"": docs[0]}
	for i, v := range published.Variants {
		results[v.Name] = docs[i]
	}

	var err error
	if walk.Tried, err = tried(ctx, opt.Engines.Language, published.Name); err != nil {
		return nil, fmt.Errorf("case %s: %w", published.Name, err)
	}

	if err := walk.fill(results); err != nil || published.Layout == nil || opt.NoPlan {
		return walk, err
	}

	if err := walk.end(ctx, opt); err != nil {
		return nil, fmt.Errorf("case %s: %w", published.Name, err)
	}

	return walk, nil
}

// end runs the end of the case: plan, files and proof.
func (w *Walk) end(ctx context.Context, opt Options) (err error) {
	c := w.Case
	before, err := c.file(opt.Engines.Language).Parse(c.Layout.Set)
	if err != nil {
		return err
	}

	// Without a chosen layout, or if nothing changes, there are no files and no proof.
	if w.Plan, err = c.planned(ctx, before, opt); err != nil || w.Plan.Chosen == nil ||
		len(w.Plan.Chosen.Changes) == 0 {
		return err
	}

	after := w.Plan.Chosen.Scenario
	if w.Files, err = c.written(opt.Engines, before, after, w.Plan.Chosen.Sets[len(c.Layout.Set):]); err != nil {
		return err
	}

	w.Proof, err = c.proven(ctx, before, after, w.Plan, opt)
	return err
}

func (o *Options) stage(text string, done, total int) {
	if o.Stage != nil {
		o.Stage(text, done, total)
	}
}

func (c *Case) simulate(ctx context.Context, v Variant, store *recording.Memory,
	opt *Options) (*simulate.Result, error) {
	sc, err := c.file(opt.Engines.Language).Parse(v.Set)
	if err != nil {
		return nil, err
	}
	how := simulate.Options{Series: opt.Series}
	if store != nil {
		how.Record = store
	}
	r, err := simulate.Run(ctx, sc, how)
	if err != nil {
		return nil, err
	}
	r.Variant = v.Name
	return r, nil
}

func judge(ctx context.Context, pack *rules.Pack, store *recording.Memory) (*Diagnosis, error) {
	report, err := diagnose.Run(ctx, []recording.Reader{store}, diagnose.Options{Pack: pack})
	if err != nil {
		return nil, err
	}
	d := &Diagnosis{Verdict: report.Verdict, Rules: []string{}}
	for _, f := range report.Findings {
		if !slices.Contains(d.Rules, f.Rule) {
			d.Rules = append(d.Rules, f.Rule)
		}
	}
	return d, nil
}

// decoded returns a result in the form of its JSON, so that figures' positions match the published JSON.
func decoded(r *simulate.Result) (any, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("result of %s: %w", r.Scenario, err)
	}
	var doc any
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("result of %s: %w", r.Scenario, err)
	}
	return doc, nil
}

// fill reads the values of all figures.
func (w *Walk) fill(results map[string]any) error {
	for _, s := range w.Case.Steps {
		figures, err := readFigures(s.Figures, results)
		if err != nil {
			return fmt.Errorf("case %s, %s: %w", w.Case.Name, s.Step, err)
		}
		w.Steps = append(w.Steps, WalkedStep{s.Step, s.Text, figures})
	}

	for _, k := range w.Case.Corrections {
		figures, err := readFigures(k.Figures, results)
		if err != nil {
			return fmt.Errorf("case %s, corrections: %w", w.Case.Name, err)
		}
		w.Corrections = append(w.Corrections, WalkedCorrection{k.Claim, k.Truth, figures})
	}

	return nil
}

func readFigures(figures []Figure, results map[string]any) ([]WalkedFigure, error) {
	var out []WalkedFigure
	for _, f := range figures {
		x := WalkedFigure{Figure: f}
		if f.Model != "" {
			e, err := parsePlace(f.Model)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}

			got, err := e.eval(f.Variant, results)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}

			if !math.IsNaN(got) {
				x.Got = &got
				x.Deviation = deviation(f.Published, got)
			}
		}

		out = append(out, x)
	}

	return out, nil
}

// deviation returns the relative difference of got from the published figure or range.
func deviation(published []float64, got float64) *float64 {
	if len(published) == 0 {
		return nil
	}
	lo, hi := slices.Min(published), slices.Max(published)
	d := 0.0
	switch {
	case got < lo && lo != 0:
		d = got/lo - 1
	case got > hi && hi != 0:
		d = got/hi - 1
	case got != lo && lo == hi:
		return nil // undefined relative to zero
	}
	return &d
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
