package casebook

import (
	"context"
	"errors"
	"fmt"

	lab "plimsoll/examples/lab"
	"plimsoll/internal/lab/table"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// A Tried is the result of a case's advice with the real engine, on volumes a fraction of the published
// size. Its figures differ from the publication's, but what helped in the lab should help here.
type Tried struct {
	Says  string      `json:"says"`
	Claim string      `json:"claim,omitempty"`
	Holds table.Holds `json:"holds"`
	// Before and After have the figure that should change, in the lab and in the model.
	Before *table.Row `json:"before"`
	After  *table.Row `json:"after"`
}

// tried looks up the measurements for a case's advice, and simulates the same runs.
func tried(ctx context.Context, in *scenario.Language, name string) ([]Tried, error) {
	suite, err := table.ReadSuite(lab.Files)
	if err != nil {
		return nil, err
	}

	measured, err := table.ReadMeasured(lab.Files, lab.MeasuredFile)
	if err != nil {
		return nil, err
	}

	of := table.Suite{}
	for _, a := range suite.Advice {
		if a.Case == name {
			of.Advice = append(of.Advice, a)
		}
	}

	var rows []table.Row
	for _, r := range suite.Runs {
		if !of.Asks(r.Name) {
			continue
		}

		sc, err := r.Open(lab.Files, in)
		if err != nil {
			return nil, fmt.Errorf("run %s of the lab: %w", r.Name, err)
		}

		model, err := simulate.Run(ctx, sc, simulate.Options{})
		if err != nil {
			return nil, err
		}

		got, err := measured.Compare(r.Name, sc.Name, model)

		// Runs that were not measured yet are left out.
		if errors.Is(err, table.ErrNotMeasured) {
			continue
		}

		if err != nil {
			return nil, err
		}

		rows = append(rows, got...)
	}

	var out []Tried
	for _, v := range of.Verdicts(rows) {
		out = append(out, Tried{v.Says, v.Claim, v.Holds, v.Before, v.After})
	}

	return out, nil
}
