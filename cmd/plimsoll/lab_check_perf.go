//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/etcd/checkperf"
	etcd "plimsoll/internal/engine/etcd/server"
	"plimsoll/internal/lab/existing"
)

// checkPerfOptions are those of `plimsoll lab check-perf`.
type checkPerfOptions struct {
	existing serverOptions
	load     choice
	duration time.Duration
	seed     uint64
	output   choice
}

// checkPerfMost bounds how long it takes.
const checkPerfMost = time.Hour

func newLabCheckPerfCommand(a *app) *cobra.Command {
	o := &checkPerfOptions{}
	cmd := &cobra.Command{
		Use:  "check-perf --server URI",
		Args: needArgs(0, 0, "the cluster goes behind --server"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(cmd); err != nil {
				return err
			}
			return o.Run(cmd.Context(), a)
		},
	}
	o.existing.AddFlags(cmd, "the etcd to check: etcd://host:2379 or http(s)://host:2379, several hosts between commas")
	addOutput(cmd, &o.output)
	o.load.value = "s"
	addChoice(cmd, &o.load, "load", "", "150, 1,000, 8,000 or 15,000 puts a second", "s", "m", "l", "xl")
	f := cmd.Flags()
	f.DurationVar(&o.duration, "duration", checkperf.DurationOf, "for how long; etcdctl's is a minute")
	f.Uint64Var(&o.seed, "seed", 1, "the seed of all chance")
	for _, name := range []string{"duration", "seed"} {
		complete(cmd, name)
	}
	return cmd
}

func (o *checkPerfOptions) Validate(cmd *cobra.Command) error {
	if o.existing.server == "" {
		return usagef("for example --server etcd://127.0.0.1:2379", "lab check-perf: which etcd?")
	}
	if o.duration < time.Second || o.duration > checkPerfMost {
		return usagef("leave it out for a minute, as etcdctl has it", "--duration %v: want 1s to %v", o.duration, checkPerfMost)
	}
	return o.existing.Validate(cmd)
}

// Run checks, and writes the result.
func (o *checkPerfOptions) Run(ctx context.Context, a *app) error {
	address, err := o.existing.address(a)
	if err != nil {
		return err
	}
	if address.Engine() != "etcd" {
		return usagef("for example --server etcd://127.0.0.1:2379", "lab check-perf is for etcd, and --server is %s", address)
	}
	load, err := checkperf.Find(o.load.value)
	if err != nil {
		return err
	}
	t := &tally{}
	opt := checkperf.Options{Load: load, Duration: o.duration, Seed: random.Seed(o.seed), Progress: func(done, all time.Duration, rate units.Frequency, p99 units.Duration) {
		t.setStage(fmt.Sprintf("putting, %s/s, p99 %s so far: second", units.Number(float64(rate)), units.Seconds(p99.Std().Seconds())),
			int(min(done, all)/time.Second), int(all/time.Second))
	}}
	v, err := etcd.NewExisting(existing.Options{Address: address, Name: o.existing.name, TLS: o.existing.tls, Keep: o.existing.keep}, checkperf.KeyBytes)
	if err != nil {
		return usagef(addresses().Wanted(), "--server: %w", err)
	}
	seen, err := v.InspectFor(ctx, checkperf.ValueSize, opt.Puts())
	if err != nil {
		return fmt.Errorf("--server %s: %w", address, err)
	}
	in := &existing.Intent{
		Address: address, Name: o.existing.name, Inspection: seen, Keep: o.existing.keep, Within: o.duration,
		Writes: opt.Puts(), Written: units.Size(opt.Puts()) * (checkperf.KeyBytes + checkperf.ValueSize),
	}
	if err := o.existing.ask(ctx, a, in); err != nil {
		return err
	}
	stop := a.meter(t).show()
	r, err := checkperf.Run(ctx, v, opt)
	stop()
	if err != nil {
		if ctx.Err() != nil && !errors.Is(err, ctx.Err()) || ctx.Err() == nil {
			return err
		}
		if text := strings.TrimPrefix(err.Error(), ctx.Err().Error()); strings.TrimSpace(text) != "" { // what could not be removed
			fmt.Fprintf(a.stderr, "plimsoll: %s\n", printable(strings.TrimSpace(text)))
		}
		return context.Canceled
	}
	if o.output.value == "json" {
		err = writeJSON(a, r)
	} else {
		_, err = io.WriteString(a.stdout, checkPerfText(r))
	}
	if err == nil && !r.Passed {
		err = &failure{code: exitFindings, err: errors.New("a criterion was not met")}
	}
	return err
}

// checkPerfText is a result as a page: etcdctl's verdict first, as it says it.
func checkPerfText(r *checkperf.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: load %s, %s puts a second from %d clients for %s, an open loop\n\n", r.Server, r.Load, units.Number(r.Rate), r.Clients, units.Seconds(r.Seconds))
	fmt.Fprintf(&b, "puts %s   p50 %s   p99 %s   slowest %s\n", whole(r.Puts), units.Seconds(r.P50), units.Seconds(r.P99), units.Seconds(r.Max))
	part := func(title string, all []checkperf.Criterion, passed bool) {
		fmt.Fprintf(&b, "\n%s\n", title)
		for i := range all {
			fmt.Fprintln(&b, criterionText(&all[i]))
		}
		fmt.Fprintln(&b, verdictWord(passed))
	}
	part("BY ETCDCTL'S CRITERIA", r.Etcdctl, r.PassedEtcdctl())
	part("BY P99", r.P99s, r.PassedP99())
	for _, text := range slices.Sorted(maps.Keys(r.Errors)) {
		fmt.Fprintf(&b, "\nfailed: %s (%s)\n", printable(text), whole(r.Errors[text]))
	}
	for _, remark := range r.Remarks {
		fmt.Fprintf(&b, "\n- %s.\n", printable(remark))
	}
	return b.String()
}

func verdictWord(passed bool) string {
	if passed {
		return "PASS"
	}
	return "FAIL"
}

// criterionText is a line: the verdict, what was seen, and the bound.
func criterionText(c *checkperf.Criterion) string {
	word, value := "?   ", "not known"
	if c.Value != nil {
		word, value = verdictWord(*c.Passed), valueText(c.Value, c.Unit)
	}
	bound := "at most "
	if c.AtLeast {
		bound = "more than "
	}
	return fmt.Sprintf("%s  %-20s%14s   %s%s", word, strings.ReplaceAll(c.Name, "_", " "), value, bound, valueText(&c.Bound, c.Unit))
}
