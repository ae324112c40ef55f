package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/fleet"
	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/document"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
)

// diagnoseOptions are the flags of `plimsoll diagnose`.
type diagnoseOptions struct {
	sourceOptions
	display
	volumeOptions
	fleet  fleetOptions
	trace  traceAutoOptions
	output choice
	failOn choice
	schema bool
	full   bool
	// incident is the number of the one to show, and slowFrom the latency that counts as stalled; 0
	// if not given.
	incident int
	slowFrom time.Duration
	// Set by Run: the running watch of these sources, and the databases of a machine that is diagnosed alone.
	watching *document.Watching
	servers  []string
}

// sampleUnasked is how long diagnose samples live sources by default: two of MongoDB's checkpoints,
// each of which starts a minute after the previous one ended.
const sampleUnasked = 2*time.Minute + 10*time.Second

func newDiagnoseCommand(a *app) *cobra.Command {
	o := &diagnoseOptions{sourceOptions: sourceOptions{durationUnless: sampleUnasked}}
	cmd := &cobra.Command{
		Use: "diagnose SOURCE... | --prometheus URL",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.schema {
				return needArgs(0, 0, "")(cmd, args)
			}
			if o.fleet.asked() {
				return nil // Validate rejects what does not go with it
			}
			return needSources(cmd, args)
		},
		ValidArgsFunction: completeSources,
	}

	o.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.schema {
			schema := diagnosis.Schema()
			if o.fleet.asked() {
				schema = fleet.Schema()
			}
			_, err := a.stdout.Write(schema)
			return err
		}

		if err := o.Validate(cmd, args, a.now()); err != nil {
			return err
		}

		return o.Run(cmd.Context(), a, args)
	}

	return cmd
}

func (o *diagnoseOptions) AddFlags(cmd *cobra.Command) {
	addFormat(cmd, &o.output)
	addChoice(cmd,
		&o.failOn, "fail-on", "", "exit with 3 if a cause or symptom has this severity or a higher one", "critical",
		"warning", "info")

	cmd.Flags().BoolVar(&o.schema, "schema", false, "print the JSON Schema of -o json and exit")
	cmd.Flags().IntVar(&o.incident, "incident",
		0, "show this incident in full, by its number in the list; 0: the most harmful one, and all in a list")
	cmd.Flags().DurationVar(&o.slowFrom, "slow-from",
		0, "mean latency from which an interval counts as stalled, such as 20ms (default: relative to the usual latency)")
	o.bought = true
	o.volumeOptions.AddFlags(cmd, "")
	o.sourceOptions.AddFlags(cmd)
	o.display.AddFlags(cmd)
	addFull(cmd, &o.full)
	o.fleet.AddFlags(cmd)
	o.trace.AddFlags(cmd, false)
}

func (o *diagnoseOptions) Validate(cmd *cobra.Command, args []string, now time.Time) error {
	if o.incident < 0 {
		return usagef("the list of incidents begins with 1", "--incident %d: there is no such incident", o.incident)
	}
	if o.slowFrom < 0 {
		return usagef("for example --slow-from 20ms", "--slow-from %s: want a duration over 0", o.slowFrom)
	}
	if o.fleet.asked() && o.incident > 0 {
		return usagef(
			"diagnose the database on its own to see its incidents", "--incident does not go with --prometheus")
	}

	return cmp.Or(o.volumeOptions.Validate(), o.trace.Validate(cmd), o.fleet.Validate(cmd.Flags().Changed, args),
		o.sourceOptions.Validate(cmd, args, now), o.display.Validate(cmd))
}

// Run reads the sources, diagnoses and reports.
func (o *diagnoseOptions) Run(ctx context.Context, a *app, args []string) error {
	if o.fleet.asked() {
		return o.fleet.run(ctx, a, o)
	}

	r, err := o.diagnose(ctx, a, args)
	if errors.Is(err, diagnose.ErrNothing) {
		err = cmp.Or(o.elsewhere(ctx, a, args, diagnose.ErrNothing.Error()), err)
	}

	if err != nil {
		return err
	}

	o.watching = a.watching("/proc", args)
	if len(args) == 1 && recognise.IsThisMachine(args[0]) {
		o.servers = opener(a.catalog).Running()
	}
	if err := o.write(a, r); err != nil {
		return err
	}

	// The report is written first: what was sampled before the signal is still useful.
	return cmp.Or(partial(ctx, "this diagnosis covers"), o.verdict(r))
}

// write writes a diagnosis in the format that was requested.
func (o *diagnoseOptions) write(a *app, r *diagnose.Report) error {
	if o.output.value == "json" {
		return diagnosis.JSON(a.stdout, r)
	}
	return a.screen(diagnosis.Document(r, diagnosis.Options{Pack: pack(), Location: o.zone, Watching: o.watching,
		Servers: o.servers}), o.output, o.options(a), o.full)
}

// diagnose reads the sources and runs the rules, with progress on stderr.
func (o *diagnoseOptions) diagnose(ctx context.Context, env *app, args []string) (*diagnose.Report, error) {
	known, err := o.limits(env)
	if err != nil {
		return nil, err
	}

	// If the samples of a live diagnosis are read again, they are the recording from before a fix.
	kept := ""
	if len(args) == 1 {
		kept = env.keptAs(args[0])
	}

	counts := &tally{}
	progress := env.meter(counts)
	progress.ends = "Ctrl-C diagnoses what there is"
	stop := progress.show()
	defer stop()

	inputs, err := o.open(ctx, env, args)
	if err != nil {
		return nil, err
	}

	defer closeAll(inputs)
	readers, memories := readersOf(inputs)

	o.lookback = judgedLookback

	// Tracing observes this machine's kernel, so there must be something to sample meanwhile.
	if o.trace.asked() && !slices.ContainsFunc(inputs, input.live) {
		return nil,
			usagef("plimsoll diagnose host --trace auto", "--trace auto needs a live source, not a recording")
	}

	var live []string
	for i, in := range inputs {
		if in.live() && len(inputs) == len(args) {
			live = append(live, args[i])
		}
	}
	env.suggestRing("/proc", live)

	opt := diagnose.Options{Pack: pack(), From: o.fromAt, To: o.toAt,
		Incident: o.incident, SlowFromS: o.slowFrom.Seconds(), Known: known, Hosts: o.hosts.of(inputs)}
	traced, err := o.trace.traceWhile(ctx, env, readers, func() error {
		defer lookWhile(ctx, readers, opt, counts)()
		return o.readAll(ctx, inputs, diagnose.Wants(pack()), counts,
			func(i int) recording.Writer { return memories[i] })
	})
	if err != nil {
		return nil, err
	}

	if traced != nil {
		readers = append(readers, traced)
	}

	// A live source ends without an error, whatever ends it: samples taken before a signal are
	// still diagnosed. A second signal ends the program immediately.
	interrupted := ctx.Err()
	ctx, cancel := afterReading(ctx)
	defer cancel()

	if err := o.volumeOptions.apply(ctx, readers); err != nil {
		return nil, err
	}

	if kept == "" {
		kept = keepLive(ctx, env, inputs, readers)
		env.kept = kept != ""
	}
	opt.Kept, opt.Progress = kept, counts.setStage

	// Only the page draws a timeline, which needs the finer slots.
	if o.output.value == asPage {
		opt.Slots = diagnose.SlotsMax
	}

	r, err := diagnose.Each(ctx, readers, opt)
	if interrupted != nil && err != nil {
		return nil, interrupted // too few samples
	}

	if unknown := (*diagnose.UnknownIncidentError)(nil); errors.As(err, &unknown) {
		return nil, usagef("without --incident, the report lists them", "--incident %d: %v", o.incident, err)
	}

	return r, err
}

// verdict returns the error of --fail-on, if its condition holds.
func (o *diagnoseOptions) verdict(r *diagnose.Report) error {
	var found []diagnose.Severity
	for _, one := range r.All() {
		for _, f := range one.Findings {
			// A refutation rules a cause out, so it is not a finding to fail on.
			if f.Kind != diagnose.Refutation {
				found = append(found, f.Severity)
			}
		}
	}
	return o.failOnSeverity(found)
}

// failOnSeverity returns the error of --fail-on for causes and symptoms of these severities.
func (o *diagnoseOptions) failOnSeverity(found []diagnose.Severity) error {
	if o.failOn.value == "" {
		return nil
	}

	worst := map[diagnose.Severity]int{diagnose.Critical: 0, diagnose.Warning: 1, diagnose.Info: 2}
	n := 0
	for _, s := range found {
		if worst[s] <= worst[diagnose.Severity(o.failOn.value)] {
			n++
		}
	}

	if n == 0 {
		return nil
	}

	word := "findings"
	if n == 1 {
		word = "finding"
	}

	return failf(exitFindings, "", "%d %s of severity %s or worse (--fail-on)", n, word, o.failOn.value)
}
