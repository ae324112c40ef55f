package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/results"
)

// simulateOptions are the flags of `plimsoll simulate`.
type simulateOptions struct {
	sets    []string
	compare []string
	seed    uint64
	seedSet bool
	record  string
	series  bool
	schema  bool
	output  choice
	failOn  choice
	layout
	full bool
}

func newSimulateCommand(a *app) *cobra.Command {
	o := &simulateOptions{layout: layout{tables: true}}
	cmd := &cobra.Command{
		Use: "simulate SCENARIO",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.schema {
				return needArgs(0, 0, "")(cmd, args)
			}
			return needArgs(1, 1, "plimsoll simulate --schema prints what a scenario may contain")(cmd, args)
		},
	}

	o.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.schema {
			_, err := a.stdout.Write(a.language().Schema())
			return err
		}
		if err := o.Validate(cmd); err != nil {
			return err
		}
		return o.Run(cmd.Context(), a, args[0])
	}

	return cmd
}

func (o *simulateOptions) AddFlags(cmd *cobra.Command) {
	addFormat(cmd, &o.output)
	f := cmd.Flags()
	f.StringArrayVar(&o.sets, "set", nil, "change a value: volumes.data.iops=16000 (repeatable)")
	f.StringArrayVar(&o.compare, "compare", nil, "compare with a variant: 'name: a.b=c,d.e=f' (repeatable)")
	f.Uint64Var(&o.seed, "seed", 0, "override the scenario's random seed")
	f.StringVar(
		&o.record, "out", "", "write a recording into this folder; with --compare, of the unchanged scenario")
	f.BoolVar(&o.series, "series", false, "with -o json: include time series")
	f.BoolVar(&o.schema, "schema", false, "print the JSON Schema of scenarios, for editors, and exit")
	o.layout.AddFlags(cmd)
	addFull(cmd, &o.full)
	addChoice(cmd,
		&o.failOn, "fail-on", "", "exit with 3 if an objective of the scenario is not met", "objective")

	cmd.ValidArgsFunction = oneFile("yaml", "yml")
}

func (o *simulateOptions) Validate(cmd *cobra.Command) error {
	o.seedSet = cmd.Flags().Changed("seed")
	if err := o.layout.Validate(cmd); err != nil {
		return err
	}
	switch {
	case len(o.compare) > variantsMax:
		return usagef("run the command several times", "--compare: %d variants, at most %d are allowed",
			len(o.compare), variantsMax)
	case o.series && o.output.value != "json":
		return usagef("add -o json", "--series: text already shows plots")
	}
	return nil
}

// load reads the scenario and its variants.
func (o *simulateOptions) load(ctx context.Context, a *app, path string) ([]variant, error) {
	if err := a.loadCatalog(); err != nil {
		return nil, err
	}
	variants, err := o.variants(ctx, a.language(), path)
	if err != nil {
		return nil, err
	}
	return variants, o.judges(variants)
}

// Run simulates and writes the result.
func (o *simulateOptions) Run(ctx context.Context, a *app, path string) error {
	variants, err := o.load(ctx, a, path)
	if err != nil {
		return err
	}

	if o.output.value != "json" {
		warn(a, variants)
	}

	all, err := o.simulate(ctx, a, variants)
	if err != nil {
		return err
	}

	switch o.output.value {
	case "json":
		err = o.writeJSON(a, all)
	default:
		err = a.screen(results.Simulation(all, o.origin(path, variants)), o.output, o.textOptions(a), o.full)
	}

	if err != nil {
		return err
	}

	return o.verdict(all)
}

// warn reports what is accepted but may be a mistake: for a variant, only what the unchanged
// scenario does not share.
func warn(a *app, variants []variant) {
	said := map[string]bool{}
	for _, v := range variants {
		prefix := ""
		if v.name != "" {
			prefix = fmt.Sprintf("variant %q: ", v.name)
		}
		for _, w := range v.sc.Warnings {
			if text := w.String(); !said[text] {
				said[text] = true
				fmt.Fprintf(a.stderr, "plimsoll: warning: %s%s\n", printable(prefix), printable(text))
			}
		}
	}
}

// simulate runs the variants, one per core concurrently.
func (o *simulateOptions) simulate(ctx context.Context, a *app,
	variants []variant) ([]*simulate.Result, error) {
	counts, stop := a.progress()
	defer stop()
	kept, err := createRecording(o.record)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	seconds := make([]int, len(variants))
	results := make([]*simulate.Result, len(variants))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))

	for i, version := range variants {
		group.Go(func() error {
			opt := simulate.Options{Series: o.series || o.output.value != "json"}

			// The first variant is the unchanged scenario.
			if i == 0 {
				opt.Record = kept.writer()
			}

			total := int((version.sc.Run.Warmup + version.sc.Run.Duration).Std() / time.Second)
			opt.Progress = func(done, _ time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				seconds[i] = int(done / time.Second)
				sum := 0
				// Variants may advance at different speeds, so the meter shows their sum.
				for _, s := range seconds {
					sum += s
				}
				counts.setCount("simulating", "seconds", sum, total*len(variants))
			}

			r, err := simulate.Run(gctx, version.sc, opt)
			if err != nil {
				return err
			}

			r.Variant = version.name
			results[i] = r
			return nil
		})
	}

	return results, kept.close(group.Wait())
}

// comparison is the contract of `simulate --compare -o json`.
type comparison struct {
	Version int                `json:"version"`
	Results []*simulate.Result `json:"results"` // the first is the unchanged scenario
}

func (o *simulateOptions) writeJSON(a *app, results []*simulate.Result) error {
	if len(results) == 1 {
		return writeJSON(a, results[0])
	}
	return writeJSON(a, comparison{simulate.ResultVersion, results})
}

// verdict returns the error of --fail-on, if an objective of the unchanged scenario was missed.
func (o *simulateOptions) verdict(results []*simulate.Result) error {
	if o.failOn.value == "" {
		return nil
	}

	var missed []string

	// Variants are experiments: only the unchanged scenario can fail a check.
	for _, x := range results[0].Objectives {
		if !x.Met {
			missed = append(missed, x.Name)
		}
	}

	if len(missed) == 0 {
		return nil
	}

	return failf(exitFindings, "", "objective not met: %s (--fail-on)", strings.Join(missed, ", "))
}

// judges checks that --fail-on has something to check: a check that cannot fail is useless.
func (o *simulateOptions) judges(variants []variant) error {
	if o.failOn.value != "" && len(variants[0].sc.Objective.Bounds()) == 0 {
		return usagef(
			"for example --set objective.write_p99=25ms", "--fail-on objective: the scenario has no objective")
	}
	return nil
}
