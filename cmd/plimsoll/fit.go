package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/results"
)

// fitOptions are the flags of `plimsoll fit`.
type fitOptions struct {
	sourceOptions
	output choice
	engine choice
	name   string
	out    string
	force  bool

	volumeOptions

	// region is the cloud region that the sources report; set by fit.
	region string
}

func newFitCommand(a *app) *cobra.Command {
	o := &fitOptions{sourceOptions: sourceOptions{durationUnless: sampleUnasked}}
	return newSourcesCommand(a, "fit SOURCE...", o)
}

func (o *fitOptions) AddFlags(cmd *cobra.Command) {
	o.output.value = "yaml"
	addChoice(cmd, &o.output, "output",
		"o", "output format: the scenario, or its values with the source of each",
		"yaml", "json", asPage, asMarkdown)
	f := cmd.Flags()
	f.StringVar(&o.name, "name", "", "the scenario's name (default: derived from the sources)")
	f.StringVar(&o.out, "out", "", "write into this file, which must not exist yet")
	f.BoolVar(&o.force, "force", false, "overwrite the file of --out")
	o.addReading(cmd, "")
}

// addReading adds the flags that say what to read and how to understand it; of says in the help what
// they are for, if the verb has other arguments too.
func (o *fitOptions) addReading(cmd *cobra.Command, of string) {
	addEngineChoice(cmd, &o.engine, of+"the engine to fit (default: the one in the sources)", engine.All().Fits())
	o.volumeOptions.AddFlags(cmd, of)
	o.sourceOptions.AddFlags(cmd)
}

func (o *fitOptions) Validate(cmd *cobra.Command, args []string, now time.Time) error {
	if o.force && o.out == "" {
		return usagef("give the file with --out FILE", "--force: there is no file to overwrite")
	}
	if err := replaces("--out", o.out, o.force); err != nil {
		return err
	}
	return o.validateReading(cmd, args, now)
}

// validateReading checks what addReading adds.
func (o *fitOptions) validateReading(cmd *cobra.Command, args []string, now time.Time) error {
	return cmp.Or(o.volumeOptions.Validate(), o.sourceOptions.Validate(cmd, args, now))
}

// Run reads the sources, fits, and writes the scenario.
func (o *fitOptions) Run(ctx context.Context, a *app, args []string) error {
	if err := a.loadCatalog(); err != nil {
		return err
	}

	fitted, err := o.fit(ctx, a, args)
	if err != nil {
		return asFitFailure(err)
	}

	// Simulate must accept what is printed: if it does not, that is a bug, and the error says so.
	if _, err := fitted.Scenario(a.language()); err != nil {
		return failf(exitFailure, "plimsoll fit -o json prints the values; --from and --to choose another period",
			"the fitted scenario is not valid:\n%w", err)
	}

	err = a.toFile(o.out, o.force, "--force overwrites it",
		func(a *app) error { return o.print(a, fitted, fitted.YAML()) })
	if err != nil {
		return err
	}

	for _, r := range fitted.Remarks {
		fmt.Fprintf(a.stderr, "plimsoll: note: %s\n", printable(r))
	}

	return partial(ctx, "this scenario covers")
}

func (o *fitOptions) print(a *app, fitted *fit.Fitted, text []byte) error {
	if o.output.value == "yaml" {
		_, err := a.stdout.Write(text)
		return err
	}
	return a.show(o.output, fitted, results.Fit(fitted))
}

// asFitFailure gives errors in a recording's content the exit code of a failure, with their hint.
func asFitFailure(err error) error {
	if several := (*diagnose.SeveralError)(nil); errors.As(err, &several) {
		return err // the command line has to choose
	}
	var h hinted
	if errors.As(err, &h) {
		return &failure{code: exitFailure, err: err, hint: h.Hint()}
	}
	return err
}

// fit reads the sources and fits the scenario, with progress on stderr.
func (o *fitOptions) fit(ctx context.Context, env *app, args []string) (*fit.Fitted, error) {
	t, stop := env.progress()
	defer stop()
	opt := fit.Options{Pack: pack(), Engines: engine.All().Fits(), Catalog: env.catalog,
		From: o.fromAt, To: o.toAt, Engine: o.engine.value, Name: o.name, Devices: o.volumes, Volumes: o.orders,
		Progress: t.setStage}

	in, hosts, done, err := o.readers(ctx, env, args, t)
	if err != nil {
		return nil, err
	}

	defer done()
	env.reportDamage(in)
	opt.Hosts = hosts
	o.region = reportedRegion(in)

	// A live source ends without an error, whatever ends it: samples taken before a signal are
	// still fitted.
	interrupted := ctx.Err()
	ctx, cancel := afterReading(ctx)
	defer cancel()

	if err := o.volumeOptions.apply(ctx, in); err != nil {
		return nil, err
	}

	fitted, err := fit.Fit(ctx, in, opt)
	if interrupted != nil && err != nil {
		return nil, interrupted // too few samples
	}

	if errors.Is(err, diagnose.ErrNothing) {
		err = cmp.Or(o.elsewhere(ctx, env, args, "nothing to fit"),
			errors.New(strings.Replace(err.Error(), diagnose.ErrNothing.Error(), "nothing to fit", 1)))
	}

	return fitted, err
}
