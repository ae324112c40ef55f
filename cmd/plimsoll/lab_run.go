//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/units"
	engines "plimsoll/internal/engine"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/run"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/results"
)

// labRunOptions are those of `plimsoll lab run`: simulate's for the scenario and for how the result is told, and
// the lab's for the volumes.
type labRunOptions struct {
	simulateOptions
	lab       labOptions
	existing  serverOptions
	programs  []*program
	powerLoss int
	model     bool
	verbose   bool
	given     []string // the call, to be made again
}

// powerLossesMax bounds the losses of power of a run: each takes seconds.
const powerLossesMax = 1000

func newLabRunCommand(a *app) *cobra.Command {
	o := &labRunOptions{}
	cmd := &cobra.Command{
		Use:  "run SCENARIO",
		Args: needArgs(1, 1, "a scenario's file, such as one of examples/scenarios/lab-*.yaml"),
	}
	o.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.Validate(cmd); err != nil {
			return err
		}
		if strings.Contains(args[0], "://") { // whose error would repeat it, with its password
			return usagef("plimsoll lab run SCENARIO.yaml --server ADDRESS", "lab run: SCENARIO is a file; an address goes behind --server")
		}
		o.given = asGiven(cmd, args)
		return o.Run(cmd.Context(), a, args[0])
	}
	return cmd
}

func (o *labRunOptions) AddFlags(cmd *cobra.Command) {
	o.lab.AddFlags(cmd)
	o.existing.AddFlags(cmd, "ask this server that runs already: "+addresses().Usage())
	addFormat(cmd, &o.output)
	f := cmd.Flags()
	f.Uint64Var(&o.seed, "seed", 0, "the seed of all chance, instead of the scenario's")
	f.StringVar(&o.record, "record", "", "write a recording of the measured time into this folder")
	f.IntVar(&o.powerLoss, "power-loss", 0, "cut the power so many times, and look whether what was acknowledged is there")
	o.programs = addPrograms(cmd)
	f.BoolVar(&o.model, "compare-model", true, "simulate the scenario as well, and tell how far the model is off")
	f.BoolVar(&o.series, "series", false, "with -o json: series over time as well")
	f.BoolVar(&o.verbose, "verbose", false, "print what the engine's processes print, on stderr")
	f.IntVar(&o.width, "width", 0, "columns of text, 80 or more; 0: the terminal's, at most "+strconv.Itoa(simulateColumns))
	f.BoolVar(&o.ascii, "ascii", false, "only 7-bit characters (default: if the locale is not UTF-8)")
	addChoice(cmd, &o.failOn, "fail-on", "", "exit with 3 if an objective of the scenario is not met", "objective")
	for _, name := range []string{"seed", "width", "power-loss"} {
		complete(cmd, name)
	}
	if err := cmd.MarkFlagDirname("record"); err != nil {
		panic(err) // the flag was just added
	}
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
			return usagef("leave one of them out", "--%s and --server: the server has its own machine, whose power and volumes are not ours", name)
		}
	}
	o.sets = o.lab.sets
	return o.simulateOptions.Validate(cmd)
}

// Run runs it, and writes the result.
func (o *labRunOptions) Run(ctx context.Context, a *app, path string) error {
	variants, err := o.load(ctx, a, path)
	if err != nil {
		return err
	}
	for _, p := range o.programs {
		if err := p.check(variants[0].sc); err != nil {
			return err
		}
	}
	warn(a, variants)
	if o.existing.server == "" {
		if err := sweep(a); err != nil {
			return err
		}
	}
	r, err := o.measure(ctx, a, path, variants[0])
	if err != nil {
		return err
	}
	if o.output.value == "json" {
		err = writeJSON(a, r)
	} else {
		origin := o.origin(path, variants)
		origin.Command = o.given
		err = a.write(results.LabRunOf(r, origin), o.output, o.textOptions(a))
	}
	if err != nil {
		return err
	}
	if p := r.PowerLoss; p != nil && !p.Held() {
		return &failure{code: exitFindings, err: errors.New("what was acknowledged was not there after a loss of power")}
	}
	return o.verdict([]*simulate.Result{r.Result})
}

// measure runs the scenario with progress, and with a recording if one is asked for.
func (o *labRunOptions) measure(ctx context.Context, a *app, path string, v variant) (*run.Result, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	t := &tally{}
	opt := run.Options{
		Engines: engines.All(), File: path, Sets: v.sets, FileSystem: o.lab.filesystem.value, Images: o.lab.images, PowerLoss: o.powerLoss, Model: o.model,
		Series: o.series || o.output.value != "json", Progress: func(p run.Progress) { tellLab(t, p) },
	}
	for _, p := range o.programs {
		if p.path != "" {
			opt.Server = func(sc *scenario.Scenario) (lab.Server, error) { return p.New(p.path, sc) }
		}
	}
	if o.existing.server != "" {
		if err := o.existing.prepare(ctx, a, v.sc, &opt); err != nil {
			return nil, err
		}
	}
	stop := a.meter(t).show()
	defer stop()
	if o.verbose {
		opt.Log = func(line string) { fmt.Fprintf(a.stderr, "plimsoll: %s\n", printable(line)) }
	}
	var kept *simulatedRecording
	if o.record != "" {
		if kept, err = createRecording(o.record); err != nil {
			return nil, err
		}
		opt.Record = kept.disk
	}
	r, err := run.Run(ctx, v.sc, opt)
	if kept != nil {
		err = kept.close(err)
	}
	return r, asProblem(err)
}

// asProblem gives what a person wrote wrong the exit code for it.
func asProblem(err error) error {
	var problems scenario.Problems
	if errors.As(err, &problems) {
		return &failure{code: exitUsage, err: err, hint: problems.Hint()}
	}
	return err
}

// tellLab puts how far a run is into the words of a meter.
func tellLab(t *tally, p run.Progress) {
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
