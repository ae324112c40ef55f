package casebook

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

// A PlanSettings configures a case's plan: its objective, what may change, and what to show of the files.
type PlanSettings struct {
	// Objective is the objective, in the syntax of `plan --objective`.
	Objective []string `yaml:"objective" json:"objective"`
	// Set are assignments to apply first: the variant that stalls, if that is not the scenario itself.
	Set []string `yaml:"set" json:"set,omitempty"`
	// Keep, Size and QuerySpan correspond to plan's flags.
	Keep      []string `yaml:"keep" json:"keep,omitempty"`
	Size      string   `yaml:"size" json:"size,omitempty"`
	QuerySpan string   `yaml:"query_span" json:"query_span,omitempty"`
	// To are the targets of `emit`; Show selects the lines of their files to print, by substring.
	To   []string `yaml:"to" json:"to,omitempty"`
	Show []string `yaml:"show" json:"show,omitempty"`
	// Record are assignments for the proof's two recordings, such as their length.
	Record []string `yaml:"record" json:"record,omitempty"`
	// Published is the publication's own comparison, shown next to the proof.
	Published string `yaml:"published" json:"published"`
}

// options converts the layout to options of package plan.
func (l *PlanSettings) options(engines []database.With[plan.Profiler]) (plan.Options, error) {
	opt := plan.Options{Engines: engines, Sets: scenario.Sets(l.Set), Keep: l.Keep}
	for _, text := range l.Objective {
		b, err := plan.ParseObjective(text)
		if err != nil {
			return opt, fmt.Errorf("layout: %w", err)
		}
		opt.Objectives = append(opt.Objectives, b)
	}

	if l.Size != "" {
		g, err := plan.ParseGrowth(l.Size, engines)
		if err != nil {
			return opt, fmt.Errorf("layout: size: %w", err)
		}
		opt.Size = g
	}

	if l.QuerySpan != "" {
		d, err := units.ParseDuration(l.QuerySpan)
		if err != nil {
			return opt, fmt.Errorf("layout: query_span: %w", err)
		}
		opt.QuerySpan = d
	}

	return opt, nil
}

// A Planned is the plan's result without the rejected layouts.
type Planned struct {
	Objectives []plan.Objective `json:"objectives"`
	Now        *plan.Layout     `json:"now"`
	Chosen     *plan.Layout     `json:"chosen"` // null: no examined layout meets the objectives
	// Frontier is the Pareto frontier of price and latency, by price.
	Frontier   []*plan.Layout   `json:"frontier"`
	Statements []plan.Statement `json:"statements"`
	Sizing     *plan.Sizing     `json:"sizing"`
	Searched   plan.SearchStats `json:"searched"`
	ErrorBar   string           `json:"error_bar"`
}

// A Written is a file that emit writes for the plan, and its decisive lines.
type Written struct {
	Path  string   `json:"path"`
	Lines []string `json:"lines,omitempty"`
}

// shownMax bounds the number of lines shown per file.
const shownMax = 8

// planned runs the case's plan for the current deployment.
func (c *Case) planned(ctx context.Context, now *scenario.Scenario, opt Options) (*Planned, error) {
	want, err := c.Layout.options(c.engines)
	if err != nil {
		return nil, err
	}
	want.Progress = func(runs int, _ units.USD) { opt.stage("planning, layout", runs, 0) }
	opt.stage("planning", 0, 0)
	p, err := plan.Make(ctx, now, c.Name+"/scenario.yaml", want)
	if err != nil {
		return nil, err
	}
	return &Planned{p.Objectives, p.Now, p.Chosen, p.Frontier, p.Statements, p.Sizing, p.Searched,
		p.ErrorBar()}, nil
}

// written returns the files for the change from one scenario to another, README first; none if only the
// application can make the change.
func (c *Case) written(engines emit.Engines, before, after *scenario.Scenario,
	sets []string) ([]Written, error) {
	l, err := emit.NewTransition(engines, before, after, c.Name+"/scenario.yaml", sets)
	if err != nil {
		return nil, err
	}

	r, err := emit.Files(l, c.Layout.To, emit.Options{})
	var input *emit.InputError

	// The targets have nothing to do if only the application has to change.
	if errors.As(err, &input) {
		return []Written{}, nil
	}

	if err != nil {
		return nil, err
	}

	out := []Written{}
	for _, f := range r.Files {
		w := Written{Path: f.Path}
		for line := range strings.SplitSeq(string(f.Text), "\n") {
			if line = strings.TrimSpace(line); len(w.Lines) < shownMax && c.Layout.shows(line) &&
				f.Path != "README.md" {
				w.Lines = append(w.Lines, line)
			}
		}
		out = append(out, w)
	}

	return out, nil
}

func (l *PlanSettings) shows(line string) bool {
	for _, part := range l.Show {
		if strings.Contains(line, part) && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}
