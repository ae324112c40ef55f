//go:build linux

package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine"
	"plimsoll/internal/lab"
)

// labBucketsOptions are the flags of `plimsoll lab buckets`.
type labBucketsOptions struct {
	output    choice
	entries   []int
	sensors   int
	sustained time.Duration
	sets      []string
	verbose   bool
}

func newLabBucketsCommand(a *app) *cobra.Command {
	o := &labBucketsOptions{}
	cmd := &cobra.Command{
		Use:  "buckets",
		Args: needArgs(0, 0, "choose buckets with --entries"),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}

	d := bucketBench().Defaults()
	addFormat(cmd, &o.output)
	f := cmd.Flags()
	f.IntSliceVar(&o.entries, "entries",
		d.Entries, "readings in a full document, one value per granularity: 12 make a minute")
	f.IntVar(&o.sensors, "sensors", d.Sensors, "number of documents to push to")
	f.DurationVar(&o.sustained, "sustained",
		d.Sustained.Std(), "how long 32 writers push, to measure pushes per second")
	f.StringArrayVar(&o.sets, "set", nil, "change a value: volumes.data.iops=16000 (repeatable)")
	f.BoolVar(&o.verbose, "verbose", false, "show the engine's output on stderr")

	return cmd
}

func (o *labBucketsOptions) run(ctx context.Context, env *app) error {
	if err := env.loadCatalog(); err != nil {
		return err
	}

	t := &tally{}
	cfg := lab.Buckets{
		Language: env.language(),
		Entries:  o.entries, Sensors: o.sensors, Sustained: units.Duration(o.sustained), Sets: o.sets,
		Progress: t.setStage,
	}

	if o.verbose {
		cfg.Log = env.say
	}

	bench := bucketBench()
	if err := bench.Check(&cfg).Err(); err != nil {
		return usagef("", "lab buckets: %w", err)
	}

	// Leftovers of a killed run would occupy the devices and distort the measurement.
	if err := sweep(env); err != nil {
		return err
	}

	stop := env.meter(t).show()
	r, err := bench.Measure(ctx, cfg)
	stop()

	var wrong inputerror.List
	switch {
	case errors.As(err, &wrong):
		return usagef("", "lab buckets: %w", err)
	case err != nil:
		return asProblem(err)
	}

	return env.show(o.output, r.JSON, r.Document)
}

// bucketBench measures buckets in the engine that has them.
func bucketBench() *lab.BucketBench {
	for _, e := range engine.All() {
		if e.Buckets != nil {
			return e.Buckets
		}
	}
	panic("no engine has buckets") // cannot happen: the verb exists because an engine has them
}
