//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine"
	"plimsoll/internal/lab/existing"
)

// checkPerfOptions are the flags of `plimsoll lab check-perf`.
type checkPerfOptions struct {
	existing serverOptions
	load     choice
	duration time.Duration
	seed     uint64
	output   choice
}

// checkPerfMost bounds the duration.
const checkPerfMost = time.Hour

func newLabCheckPerfCommand(a *app) *cobra.Command {
	o := &checkPerfOptions{}
	cmd := &cobra.Command{
		Use:  "check-perf --server URI",
		Args: needArgs(0, 0, "give the cluster with --server"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(cmd); err != nil {
				return err
			}
			return o.Run(cmd.Context(), a)
		},
	}

	product, example := checked()
	o.existing.AddFlags(cmd, "the "+product+" to check, for example "+example+"; separate hosts with commas")
	addFormat(cmd, &o.output)
	o.load.value = "s"
	addChoice(cmd, &o.load, "load", "", "150, 1,000, 8,000 or 15,000 puts per second", "s", "m", "l", "xl")
	f := cmd.Flags()
	f.DurationVar(&o.duration, "for", time.Minute, "how long to run; the engine's own tool takes a minute")
	f.Uint64Var(&o.seed, "seed", 1, "the random seed")

	return cmd
}

func (o *checkPerfOptions) Validate(cmd *cobra.Command) error {
	if o.existing.server == "" {
		product, example := checked()
		return usagef("for example --server "+example, "lab check-perf: which %s?", product)
	}
	if o.duration < time.Second || o.duration > checkPerfMost {
		return usagef("leave it out to run for a minute", "--for %v: want 1s to %v", o.duration, checkPerfMost)
	}
	return o.existing.Validate(cmd)
}

// Run checks the cluster and writes the result.
func (o *checkPerfOptions) Run(ctx context.Context, env *app) error {
	address, err := o.existing.address(env)
	if err != nil {
		return err
	}

	e := checkable(address.Engine())
	if e == nil {
		product, example := checked()
		return usagef("for example --server "+example, "lab check-perf is for %s, and --server is %s",
			product, address)
	}

	t := &tally{}
	load := existing.PerfLoad{Name: o.load.value, Duration: o.duration, Seed: random.Seed(o.seed),
		Progress: func(done, all time.Duration, rate units.Frequency, p99 units.Duration) {
			t.setStage(fmt.Sprintf("putting, %s/s, p99 %s so far: second", units.Number(float64(rate)),
				units.Seconds(p99.Std().Seconds())),
				int(min(done, all)/time.Second), int(all/time.Second))
		}}

	check, err := e.NewPerfCheck(existing.Options{Address: address, Name: o.existing.name, TLS: o.existing.tls,
		Keep: o.existing.keep}, load)
	if err != nil {
		return usagef(addresses().Wanted(), "--server: %w", err)
	}

	in, err := check.Inspect(ctx)
	if err != nil {
		return fmt.Errorf("--server %s: %w", address, err)
	}

	if err := o.existing.ask(ctx, env, in); err != nil {
		return err
	}

	stop := env.meter(t).show()
	r, err := check.Run(ctx)
	stop()

	if err != nil {
		// After an interrupt, only errors other than the cancellation matter.
		if ctx.Err() != nil && !errors.Is(err, ctx.Err()) || ctx.Err() == nil {
			return err
		}
		// reports what could not be removed
		if text := strings.TrimPrefix(err.Error(), ctx.Err().Error()); strings.TrimSpace(text) != "" {
			fmt.Fprintf(env.stderr, "plimsoll: %s\n", printable(strings.TrimSpace(text)))
		}
		return context.Canceled
	}

	if err := env.show(o.output, r.JSON, r.Document); err != nil {
		return err
	}
	if !r.Met {
		return failf(exitFindings, "", "a criterion was not met")
	}

	return nil
}

// checked are the products that can be checked, with an example address.
func checked() (products, example string) {
	var names []string
	for _, e := range engine.All().Existing() {
		if e.Part.NewPerfCheck != nil {
			names = append(names, e.Part.Addresses.Product)
			example, _, _ = strings.Cut(e.Part.Addresses.Example, ",")
		}
	}
	return strings.Join(names, " or "), example
}

// checkable is the engine with a key, nil if it cannot be checked.
func checkable(key string) *existing.Engine {
	for _, e := range engine.All().Existing() {
		if e.Key == key && e.Part.NewPerfCheck != nil {
			return e.Part
		}
	}
	return nil
}
