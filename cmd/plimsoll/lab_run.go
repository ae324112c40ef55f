//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/units"
	"plimsoll/internal/engine"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/run"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/results"
)

// labRunOptions are the options of `plimsoll lab run`: those of simulate for the scenario and the
// output, and those of the lab for the volumes.
type labRunOptions struct {
	simulateOptions
	lab       labOptions
	existing  serverOptions
	programs  []*program
	powerLoss int
	model     bool
	verbose   bool
	given     []string // for the command line in the result
}

// powerLossesMax bounds the power losses of a run: each takes seconds.
const powerLossesMax = 1000

func newLabRunCommand(a *app) *cobra.Command {
	o := &labRunOptions{simulateOptions: simulateOptions{layout: layout{tables: true}}}
	cmd := &cobra.Command{
		Use:  "run SCENARIO",
		Args: needArgs(1, 1, "a scenario's file, such as one of examples/scenarios/lab-*.yaml"),
	}

	o.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.Validate(cmd); err != nil {
			return err
		}
		if strings.Contains(args[0], "://") { // the parser's error would repeat it, including its password
			return usagef(
				"plimsoll lab run SCENARIO.yaml --server ADDRESS", "lab run: SCENARIO is a file; give an address with --server")
		}
		o.given = asGiven(cmd, args)
		return o.Run(cmd.Context(), a, args[0])
	}

	return cmd
}

func (o *labRunOptions) AddFlags(cmd *cobra.Command) {
	o.lab.AddFlags(cmd)
	o.existing.AddFlags(cmd, "use this existing server: "+addresses().Usage())
	addFormat(cmd, &o.output)
	f := cmd.Flags()
	f.Uint64Var(&o.seed, "seed", 0, "override the scenario's random seed")
	f.StringVar(&o.record, "out", "", "write a recording of the measured period into this folder")
	f.IntVar(&o.powerLoss, "power-loss",
		0, "cut the power this many times, and verify that acknowledged writes survive")
	o.programs = addPrograms(cmd)
	f.BoolVar(&o.model, "compare-model", true, "also simulate the scenario, and report the model's error")
	f.BoolVar(&o.series, "series", false, "with -o json: include time series")
	f.BoolVar(&o.verbose, "verbose", false, "show the output of the engine's processes on stderr")
	o.layout.AddFlags(cmd)
	addChoice(cmd,
		&o.failOn, "fail-on", "", "exit with 3 if an objective of the scenario is not met", "objective")
}

func (o *labRunOptions) Validate(cmd *cobra.Command) error {
	if o.powerLoss < 0 || o.powerLoss > powerLossesMax {
		return usagef("each takes some seconds", "--power-loss %d: want 0 to %d", o.powerLoss, powerLossesMax)
	}

	if err := o.existing.Validate(cmd); err != nil {
		return err
	}

	others := []string{"power-loss", "filesystem", "images"}
	for _, p := range o.programs {
		others = append(others, p.Flag)
	}

	for _, name := range others {
		if o.existing.server != "" && cmd.Flags().Changed(name) {
			return usagef("leave one of them out",
				"--%s and --server: the server runs on its own machine; the lab does not control its power or volumes",
				name)
		}
	}

	o.sets = o.lab.sets
	return o.simulateOptions.Validate(cmd)
}

// Run runs the scenario and writes the result.
func (o *labRunOptions) Run(ctx context.Context, env *app, path string) error {
	variants, err := o.load(ctx, env, path)
	if err != nil {
		return err
	}

	for _, p := range o.programs {
		if err := p.check(variants[0].sc); err != nil {
			return err
		}
	}

	warn(env, variants)

	// A run against an existing server creates no volumes, so it needs no privileges.
	if o.existing.server == "" {
		if err := sweep(env); err != nil {
			return err
		}
	}

	r, err := o.measure(ctx, env, path, variants[0])
	if err != nil {
		return err
	}

	if o.output.value == "json" {
		err = writeJSON(env, r)
	} else {
		origin := o.origin(path, variants)
		origin.Command = o.given
		err = env.write(results.LabRun(r, origin), o.output, o.textOptions(env))
	}

	if err != nil {
		return err
	}

	// Lost writes outrank missed objectives.
	if p := r.PowerLoss; p != nil && !p.Held() {
		return failf(exitFindings, "", "acknowledged writes were lost after a power loss")
	}

	return o.verdict([]*simulate.Result{r.Result})
}

// measure runs the scenario with progress, and records it if requested.
func (o *labRunOptions) measure(ctx context.Context, env *app, path string,
	measured variant) (*run.Result, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}

	t := &tally{}
	opt := run.Options{
		Engines: engine.All().Labs(), File: path, Sets: measured.sets, FileSystem: o.lab.filesystem.value,
		Images: o.lab.images, PowerLoss: o.powerLoss, Model: o.model,
		// JSON always has the series; text needs them only for charts.
		Series: o.series || o.output.value != "json", Progress: func(p run.Progress) { reportLab(t, p) },
	}

	for _, p := range o.programs {
		if p.path != "" {
			opt.Server = func(sc *scenario.Scenario) (lab.Server, error) { return p.New(p.path, sc) }
		}
	}

	if o.existing.server != "" {
		if err := o.existing.prepare(ctx, env, measured.sc, &opt); err != nil {
			return nil, err
		}
	}

	stop := env.meter(t).show()
	defer stop()
	if o.verbose {
		opt.Log = env.say
	}

	kept, err := createRecording(o.record)
	if err != nil {
		return nil, err
	}
	opt.Record = kept.writer()
	r, err := run.Run(ctx, measured.sc, opt)
	return r, asProblem(kept.close(err))
}

// asProblem gives wrong input its exit code.
func asProblem(err error) error {
	var problems scenario.Problems
	if errors.As(err, &problems) {
		return &failure{code: exitUsage, err: err, hint: problems.Hint()}
	}
	return err
}

// reportLab describes a run's progress for a meter.
func reportLab(t *tally, p run.Progress) {
	if !p.Timed {
		t.setStage(p.Phase, int(p.Done), int(p.Total))
		return
	}
	text := p.Phase
	if p.Rate > 0 {
		text += fmt.Sprintf(", %s/s", units.Number(float64(p.Rate)))
	}
	if p.P99 > 0 {
		text += fmt.Sprintf(", p99 %s so far", units.Seconds(p.P99.Std().Seconds()))
	}
	text += fmt.Sprintf(", %s left: second", time.Duration(p.Total-p.Done)*time.Second)
	t.setStage(text, int(p.Done), int(p.Total))
}
