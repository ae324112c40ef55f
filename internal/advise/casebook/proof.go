package casebook

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/advise/prove"
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/record/recording"
)

// proven compares simulated recordings of the current deployment and of the plan's choice, like `plimsoll
// prove` compares those from production. They have different seeds: with the same seed both would have the
// same arrivals, which never happens in production.
func (c *Case) proven(ctx context.Context, before, after *scenario.Scenario, planned *Planned,
	opt Options) (*prove.Report, error) {
	opt.stage("recording what the plan changes", 0, 0)
	sides := []struct {
		scenario *scenario.Scenario
		seed     random.Seed
		store    *recording.Memory
	}{{scenario: before, seed: 101}, {scenario: after, seed: 102}}

	sets := scenario.Sets(c.Layout.Record)
	g, runs := errgroup.WithContext(ctx)
	for i := range sides {
		s := &sides[i]
		s.store = recording.NewMemory(recording.MemoryOptions{})
		g.Go(func() error {
			sc, err := s.scenario.With(append(slices.Clone(sets), scenario.Set{Path: "seed", Value: s.seed})...)
			if err != nil {
				return err
			}
			_, err = simulate.Run(runs, sc, simulate.Options{Record: s.store})
			return err
		})
	}

	if err := g.Wait(); err != nil {
		return nil, err
	}

	// The monthly costs come from the plan, so that the proof shows what the change buys.
	costBefore, costAfter := units.USD(planned.Now.MonthlyUSD), units.USD(planned.Chosen.MonthlyUSD)
	bounds := make([]prove.Bound, 0, len(c.Layout.Objective))
	for _, text := range c.Layout.Objective {
		// skip objectives on a maximum: recordings do not contain maxima, so prove does not support them
		if b, err := prove.ParseBound(opt.Pack, text); err == nil {
			bounds = append(bounds, b)
		}
	}

	return prove.Compare(ctx, []recording.Reader{sides[0].store}, []recording.Reader{sides[1].store},
		prove.Options{
			Pack:       opt.Pack,
			CostBefore: &costBefore, CostAfter: &costAfter, Require: bounds, Seed: 1,
			Progress: func(stage string, done, total int) { opt.stage("proof: "+stage, done, total) },
		})
}

// ProofFigures returns the proof's figures that matter to readers: those that clients see, and the
// checkpoints' duration, without those that are zero before and after.
func (w *Walk) ProofFigures() []prove.Figure {
	if w.Proof == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.Proof.Figures), func(f prove.Figure) bool {
		felt := strings.HasPrefix(f.Name, "write_") || strings.HasPrefix(f.Name, "read_") || f.Name == "stalled" ||
			f.Name == "checkpoint" || f.Name == "operations"
		nothing := f.Before.Value != nil && f.After.Value != nil && *f.Before.Value == 0 && *f.After.Value == 0
		return !felt || nothing
	})
}
