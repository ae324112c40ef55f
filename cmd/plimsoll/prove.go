package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/prove"
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/results"
	"plimsoll/internal/record/address"
	"plimsoll/internal/record/recording"
)

// proveOptions are the flags of `plimsoll prove`.
type proveOptions struct {
	sourceOptions
	display
	full                  bool
	output                choice
	require, fixes        []string
	confidence            string
	costBefore, costAfter string
	beforeTo, afterFrom   string
	atMark                string
	settle                time.Duration
	strict                bool
	seed                  uint64

	// Set by Validate.
	compare                 prove.Options
	beforeToAt, afterFromAt time.Time
}

const (
	// confidenceLeast and confidenceMost bound --confidence: below, nothing is proved; above, 4,000
	// resamples have too few in the tail.
	confidenceLeast = 0.5
	confidenceMost  = 0.999
	// requirementsMax bounds --require.
	requirementsMax = 64
)

func newProveCommand(a *app) *cobra.Command {
	o := &proveOptions{sourceOptions: sourceOptions{durationUnless: 10 * time.Minute}}
	cmd := &cobra.Command{
		Use:  "prove BEFORE AFTER",
		Long: "  " + strings.Join(wrapped(strings.Join(prove.Names(pack()), " "), 76), "\n  "),
		Args: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "") {
				return usagef(seeHelp(cmd), "%s: a recording's name is empty", verb(cmd))
			}
			if o.atMark != "" {
				return needArgs(1, 2,
					"give the recording that has the mark, and the mark's text unless it is the newest")(cmd, args)
			}
			return needArgs(2, 2,
				"give the recording from before the change, then the one from after it; plimsoll record SOURCE... --out DIR makes them")(cmd, args)
		},
	}

	o.AddFlags(cmd)
	cmd.ValidArgsFunction = upTo(2, completeSources)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.atMark != "" {
			var err error
			if args, err = o.splitAtMark(cmd, a, args); err != nil {
				return err
			}
		}
		if err := o.Validate(cmd, args, a.now()); err != nil {
			return err
		}
		return o.Run(cmd.Context(), a, args)
	}

	return cmd
}

func (o *proveOptions) AddFlags(cmd *cobra.Command) {
	addFormat(cmd, &o.output)
	f := cmd.Flags()
	f.StringArrayVar(&o.require, "require",
		nil, "exit with 3 unless AFTER meets this: 'write_p99 < 25ms' (repeatable)")
	f.StringArrayVar(&o.fixes, "fix",
		nil, "the fix applied between the two, by its name in diagnose: increases that it causes on purpose count as intended (repeatable)")
	f.StringVar(
		&o.confidence, "confidence", "95%", "of the intervals, and that the report contains no false verdict")
	f.StringVar(&o.costBefore, "cost-before", "", "the cost before, such as 100USD/month")
	f.StringVar(&o.costAfter, "cost-after", "", "the cost after, such as 80USD/month")
	f.StringVar(&o.beforeTo, "before-to", "", "use BEFORE only up to this time")
	f.StringVar(&o.afterFrom, "after-from", "", "use AFTER only from this time on")
	addAtMark(cmd, o)
	f.BoolVar(&o.strict, "strict",
		false, "exit with 3 if the workloads are not comparable, instead of a warning")
	f.Uint64Var(&o.seed, "seed", 1, "the random seed: the same seed gives the same report")
	o.sourceOptions.AddFlags(cmd)
	o.display.AddFlags(cmd)
	addFull(cmd, &o.full)

	complete(cmd, "fix", prove.Fixes(pack())...)
	complete(cmd, "confidence", "90%", "95%", "99%")

	var words []string
	for _, n := range prove.Names(pack()) {
		words = append(words, n+" < ")
	}

	complete(cmd, "require", words...)
}

func (o *proveOptions) Validate(cmd *cobra.Command, args []string, now time.Time) (err error) {
	if err := cmp.Or(o.sourceOptions.Validate(cmd, args, now), o.display.Validate(cmd)); err != nil {
		return err
	}

	if o.beforeToAt, err = parseMoment("--before-to", o.beforeTo, now, o.zone); err != nil {
		return err
	}

	if o.afterFromAt, err = parseMoment("--after-from", o.afterFrom, now, o.zone); err != nil {
		return err
	}
	if !o.beforeToAt.IsZero() && !o.afterFromAt.IsZero() && o.afterFromAt.Before(o.beforeToAt) {
		return usagef("", "--after-from %s is before --before-to %s", o.afterFrom, o.beforeTo)
	}

	compare := &o.compare
	if compare.Confidence, err = units.ParseRatio(o.confidence); err != nil {
		return usagef("for example --confidence 95%", "--confidence: %w", err)
	}
	if compare.Confidence < confidenceLeast || compare.Confidence > confidenceMost {
		return usagef("95% is usual", "--confidence %s: want %s to %s", o.confidence, "50%", "99.9%")
	}
	if len(o.require) > requirementsMax {
		return usagef("", "--require is given %d times, at most %d are allowed", len(o.require), requirementsMax)
	}

	for _, text := range o.require {
		b, err := prove.ParseBound(pack(), text)
		if err != nil {
			return usagef("for example --require 'write_p99 < 25ms'", "--require: %w", err)
		}
		compare.Require = append(compare.Require, b)
	}

	if compare.CostBefore, err = parseMonthly("--cost-before", o.costBefore); err != nil {
		return err
	}

	if compare.CostAfter, err = parseMonthly("--cost-after", o.costAfter); err != nil {
		return err
	}

	compare.Seed = random.Seed(o.seed)
	compare.Pack = pack()

	for _, name := range o.fixes {
		if !slices.Contains(prove.Fixes(compare.Pack), name) {
			return usagef("known: "+strings.Join(prove.Fixes(compare.Pack), ", "), "--fix %q: there is no such fix", name)
		}
	}

	compare.Fixes = o.fixes

	// --from and --to bound both recordings. The more specific flags only narrow them.
	compare.Before = prove.Window{From: o.fromAt, To: earlier(o.toAt, o.beforeToAt)}
	compare.After = prove.Window{From: o.fromAt, To: o.toAt}

	if o.afterFromAt.After(o.fromAt) {
		compare.After.From = o.afterFromAt
	}

	return nil
}

// earlier is the earlier of two times; a zero time does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// parseMonthly reads dollars per month; nil if nothing was given.
func parseMonthly(flag, text string) (*units.USD, error) {
	if text == "" {
		return nil, nil
	}
	x, err := units.ParseUSD(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "/month")))
	if err != nil {
		return nil, usagef("for example "+flag+" 100USD/month", "%s %q: %w", flag, text, err)
	}
	return &x, nil
}

// Run reads both recordings, compares them and reports.
func (o *proveOptions) Run(ctx context.Context, a *app, args []string) error {
	o.compare.Partial = true
	r, err := o.prove(ctx, a, args)
	if err != nil {
		return err
	}

	if o.output.value == "json" {
		err = writeJSON(a, r)
	} else {
		doc := results.Proof(pack(), r, o.zone, address.Public(args[1]), a.watching("/proc", args[1:2]))
		err = a.screen(doc, o.output, o.options(a), o.full)
	}

	if err != nil {
		return err
	}
	if err := partial(ctx, "this comparison covers"); err != nil {
		return err
	}

	return o.verdict(r)
}

// prove reads both recordings, each as diagnose would, and compares them.
func (o *proveOptions) prove(ctx context.Context, a *app, args []string) (*prove.Report, error) {
	t, stop := a.progress()
	defer stop()
	var sides [2][]recording.Reader
	opt := o.compare
	opt.Hosts, opt.Progress = map[string]string{}, t.setStage

	for i := range sides {
		if err := ctx.Err(); err != nil {
			return nil, err // without the second side there is nothing to compare
		}
		readers, hosts, done, err := o.side(i).readers(ctx, a, args[i:i+1], t)
		if err != nil {
			return nil, err
		}
		defer done()
		sides[i] = readers
		maps.Copy(opt.Hosts, hosts)
	}

	// A live source that was interrupted ends without an error, and what it sampled is compared.
	comparing, cancel := afterReading(ctx)
	defer cancel()
	r, err := prove.Compare(comparing, sides[0], sides[1], opt)
	if err != nil && interrupted(ctx) {
		return nil, ctx.Err() // too few samples
	}

	// A recording without usable series may be of another system; name it if it is recognised.
	if errors.Is(err, diagnose.ErrNothing) {
		err = cmp.Or(o.side(0).elsewhere(ctx, a, args[:1], "before: nothing to compare"),
			o.side(1).elsewhere(ctx, a, args[1:], "after: nothing to compare"), err)
	}

	return r, err
}

// side are the options for reading one of the recordings: 0 is before, 1 after.
func (o *proveOptions) side(i int) *sourceOptions {
	s := o.sourceOptions
	w := []prove.Window{o.compare.Before, o.compare.After}[i]
	s.fromAt, s.toAt = w.From, w.To
	return &s
}

// readers opens sources. Those that cannot be queried directly are read into memory. hosts are the hosts that
// the user gave, by the sources' own names. done closes the readers.
func (o *sourceOptions) readers(ctx context.Context, a *app, args []string,
	t *tally) (readers []recording.Reader, hosts map[string]string, done func(), err error) {
	o.lookback = judgedLookback
	inputs, err := o.open(ctx, a, args)
	if err != nil {
		return nil, nil, nil, err
	}

	readers, memories := readersOf(inputs)

	if err = o.readAll(ctx, inputs, diagnose.Wants(pack()), t,
		func(i int) recording.Writer { return memories[i] }); err != nil {
		closeAll(inputs)
		return nil, nil, nil, err
	}

	return readers, o.hosts.of(inputs), func() { closeAll(inputs) }, nil
}

// verdict returns the error of --strict and --require, if their condition holds.
func (o *proveOptions) verdict(report *prove.Report) error {
	if report.Short != nil {
		return failf(exitNotYet, report.Short.Hint, "%s", "not proved yet: "+report.Short.Text)
	}

	// A requirement that is met under a lighter load proves nothing, so it implies --strict.
	if !report.Workload.Comparable && (o.strict || len(report.Requirements) > 0) {
		var why []string
		for _, c := range report.Workload.Checks {
			if !c.OK {
				why = append(why, c.Name+" "+c.Text)
			}
		}
		return failf(exitFindings, "record both under the same workload", "not comparable: %s",
			strings.Join(why, "; "))
	}

	var errs []error
	for _, q := range report.Requirements {
		if q.Outcome != prove.Met {
			errs = append(errs, fmt.Errorf("%s: %s", q.Outcome, q.Text))
		}
	}

	if len(errs) == 0 {
		return nil
	}

	hint := ""
	for _, q := range report.Requirements {
		switch {
		// A missing figure takes precedence: recording longer would not provide it.
		case q.Outcome == prove.NotMeasured:
			hint = fmt.Sprintf("%s is not in both recordings: plimsoll prove --help lists the figures", q.Name)
		case q.Record != nil && hint == "":
			hint = fmt.Sprintf("record %s to decide", units.Seconds(q.Record.Seconds))
		}
	}

	return &failure{code: exitFindings, err: errors.Join(errs...), hint: hint}
}
