package main

import (
	"context"
	_ "embed" // sources.txt
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/engine"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/record/address"
	"plimsoll/internal/record/amazon"
	"plimsoll/internal/record/azure"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/google"
	"plimsoll/internal/record/pod"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/watch"
)

// sourceOptions are the flags of every verb that reads sources.
type sourceOptions struct {
	from, to string
	tz       string
	offsets  []string
	hostOf   []string
	selector string
	insecure bool
	duration time.Duration // for live sources; 0: until interrupted
	period   time.Duration

	// Set by Validate.
	zone         *time.Location
	fromAt, toAt time.Time
	// samples this long before fromAt are read too: rates at the start of the window need them
	lookback       time.Duration
	clockOffsets   offsets
	hosts          hostNames
	matchers       recording.Selector
	durationUnless time.Duration // default for live sources
}

func (o *sourceOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "only from this time on: RFC 3339, \"2026-07-20 15:55\", or -2h")
	f.StringVar(&o.to, "to", "", "only up to this time")
	f.StringVar(
		&o.tz, "tz",
		"", "time zone for output, and for logs without one (iostat), such as Europe/Berlin (default: this machine's)")
	f.StringArrayVar(&o.offsets, "offset",
		nil, "add to the clock of all sources (2s) or of one (iostat.log=-2s) (repeatable)")
	f.StringArrayVar(&o.hostOf, "host",
		nil, "the host that a source is of, to join devices and databases: iostat.log=db-1 (repeatable)")
	f.StringVar(&o.selector, "selector", "", `only series with these labels: '{instance=~"db-1:.*"}'`)
	f.BoolVar(&o.insecure, "insecure", false, "accept any TLS certificate of a server")
	live := "until interrupted"

	if o.durationUnless > 0 {
		live = o.durationUnless.String()
	}

	f.DurationVar(&o.duration, "for", 0, "how long to sample live sources (default: "+live+")")
	f.DurationVar(&o.period, "period", time.Second, "how often to sample live sources")
}

func (o *sourceOptions) Validate(cmd *cobra.Command, args []string, now time.Time) (err error) {
	// Parse the zone first, because the times of --from and --to are in it.
	o.zone = time.Local
	if o.tz != "" {
		if o.zone, err = time.LoadLocation(o.tz); err != nil {
			return usagef("for example UTC, Europe/Berlin, America/New_York", "--tz %q: no such zone", o.tz)
		}
	}

	if o.fromAt, err = parseMoment("--from", o.from, now, o.zone); err != nil {
		return err
	}

	if o.toAt, err = parseMoment("--to", o.to, now, o.zone); err != nil {
		return err
	}
	if !o.fromAt.IsZero() && !o.toAt.IsZero() && !o.fromAt.Before(o.toAt) {
		return usagef("", "--from %s is not before --to %s", o.from, o.to)
	}

	if args, err = appOf(cmd).expand(args); err != nil { // it may name a file in a folder
		return err
	}

	if o.clockOffsets, err = parseOffsets(o.offsets, args); err != nil {
		return err
	}

	if o.hosts, err = parseHosts(o.hostOf, args); err != nil {
		return err
	}

	if o.selector, o.matchers, err = parseSelector(o.selector); err != nil {
		return err
	}

	const periodLeast = 10 * time.Millisecond
	if o.period < periodLeast {
		return usagef("rules are designed for 1s", "--period %s: want %s or more", o.period, periodLeast)
	}

	// Each command has its own default for live sources.
	if cmd.Flags().Changed("for") {
		if o.duration <= 0 {
			return usagef("for example --for 2m", "--for %s: want a duration", o.duration)
		}
	} else {
		o.duration = o.durationUnless
	}

	return nil
}

// An input is a source of the command line, opened.
type input struct {
	arg string
	recognise.Input
}

// live reports whether the input is sampled, in contrast to a file or a recording.
func (in input) live() bool { return in.Source != nil && in.Source.Live() }

// opener recognises the sources of all engines and clouds.
func opener(known *catalog.Catalog) *recognise.Opener {
	aws := amazon.Cloud{Knows: func(name string) bool {
		i, err := known.Instance(name)
		return err == nil && i.HasEBS
	}}
	return recognise.For(engine.All().Sources()).With(aws, azure.Cloud{}, google.Cloud{},
		pod.Cloud{Providers: []pod.Provider{aws, azure.Cloud{}, google.Cloud{}}})
}

// open opens all sources concurrently. The error is that of the first argument that cannot be
// opened.
func (o *sourceOptions) open(ctx context.Context, a *app, args []string) ([]input, error) {
	args, err := a.expand(args)
	if err != nil {
		return nil, err
	}

	getenv, err := bindEnvironment(a.getenv, args)
	if err != nil {
		return nil, err
	}

	// All pages share one memory budget.
	inputs, room := make([]input, len(args)), exposition.NewRoom()
	err = each(ctx, len(args), func(ctx context.Context, i int) error {
		// --from and --to are in corrected time, and the source's clock is off by this much.
		off := o.clockOffsets.of(args[i])
		in, err := opener(a.catalog).Open(ctx, args[i],
			recognise.OpenOptions{From: later(o.fromAt, -off), To: later(o.toAt, -off), Selector: o.selector,
				Insecure: o.insecure, Getenv: getenv[i], Room: room})
		if err == nil && in.Reader != nil && len(o.matchers) > 0 {
			in.Reader = selection{Reader: in.Reader, matchers: o.matchers}
		}

		if err == nil && in.Reader != nil && off != 0 {
			in.Reader = shifted{Reader: in.Reader, by: off} // other sources get their offset when they are read
		}

		inputs[i] = input{arg: args[i], Input: in}
		return err
	})
	if err != nil {
		// Some may have been opened before the first one failed.
		closeAll(inputs)
		return nil, err
	}

	// Pages of several servers have the same series.
	live := make([]source.Source, len(inputs))
	for i, in := range inputs {
		live[i] = in.Source
	}

	exposition.Several(live)
	exposition.Joined(live)
	source.Join(live)

	kept := inputs[:0]
	for i, in := range inputs {
		if in.Source != nil && live[i] == nil {
			continue // it is part of another now
		}
		in.Source = live[i]
		kept = append(kept, in)
	}

	return kept, nil
}

// expand replaces a folder of sources by its contents.
func (a *app) expand(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		if path := a.keptAs(arg); path != "" {
			arg = path
		}
		found, err := opener(a.catalog).Expand(arg)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// readersOf returns what to read each input from, and a memory for each that cannot be queried directly.
func readersOf(inputs []input) ([]recording.Reader, []*recording.Memory) {
	readers := make([]recording.Reader, len(inputs))
	memories := make([]*recording.Memory, len(inputs))
	for i, in := range inputs {
		if readers[i] = in.Reader; in.Reader == nil {
			memories[i] = recording.NewMemory(recording.MemoryOptions{})
			readers[i] = memories[i]
		}
	}
	return readers, memories
}

// closeAll closes the inputs that can be queried directly. They were only read, so nothing can be
// lost.
func closeAll(inputs []input) {
	for _, in := range inputs {
		if in.Reader != nil {
			_ = in.Reader.Close()
		}
	}
}

// judgedLookback is how long before --from samples are read for a judgement: the first interval in the
// window begins with a sample before it. Cloud sources have a sample every five minutes.
const judgedLookback = 10 * time.Minute

// readFrom is the time of the first sample to read: --from, less the lookback.
func (o *sourceOptions) readFrom() time.Time {
	if o.fromAt.IsZero() {
		return o.fromAt
	}
	return o.fromAt.Add(-o.lookback)
}

func (o *sourceOptions) readOptions(in input, want func(string) bool, t *tally) source.Options {
	return source.Options{
		Want: want, ClockOffset: o.clockOffsets.of(in.arg), Location: o.zone,
		From: o.readFrom(), To: o.toAt, Period: o.period, For: o.duration, Progress: t.start(in.Source.Live()),
	}
}

// watched are live inputs without progress, as there is no end to progress towards. A context ends the
// sampling, so that all sources end together.
func (o *sourceOptions) watched(inputs []input) []watch.Input {
	out := make([]watch.Input, len(inputs))
	for i, in := range inputs {
		out[i] = watch.Input{Source: in.Source, Options: o.readOptions(in, nil, &tally{})}
		out[i].Options.Progress, out[i].Options.For = nil, 0
	}
	return out
}

// readAll reads every input that is a source, each into the writer that to returns for it. It reads
// all live sources concurrently, and a few files at a time.
func (o *sourceOptions) readAll(ctx context.Context, inputs []input,
	want func(string) bool, t *tally, to func(i int) recording.Writer) error {
	// Decoding a capture keeps a core busy. Live sources mostly wait, so they are not limited.
	files := make(chan struct{}, runtime.GOMAXPROCS(0))
	found := &selected{}
	err := each(ctx, len(inputs), func(ctx context.Context, i int) error {
		in := inputs[i]
		if in.Source == nil {
			return nil
		}

		opt := o.readOptions(in, want, t)
		if !in.Source.Live() {
			files <- struct{}{}
			defer func() { <-files }()
			if err := ctx.Err(); err != nil {
				return err
			}
		}

		defer t.charge(in.Source)
		w := to(i)
		if in.Source.Live() {
			w = &againWriter{Writer: w, argument: address.Again(in.arg)}
		}
		if len(o.matchers) > 0 {
			w = &selectingWriter{Writer: w, matchers: o.matchers, found: found, known: map[uint64]bool{}}
		}

		return in.Source.Read(ctx, w, opt)
	})

	// A selection that matches nothing is probably a typing error, so it is reported instead of an
	// empty result.
	read := slices.ContainsFunc(inputs, func(in input) bool { return in.Source != nil })
	if err != nil || len(o.matchers) == 0 || found.any || !read {
		return err
	}

	// A recording or a server may have what the files lack.
	for _, in := range inputs {
		if in.Reader == nil {
			continue
		}

		series, err := in.Reader.ListSeries(ctx, func(string) bool { return true })
		if err != nil || len(series) > 0 {
			return err
		}

		if whole, ok := in.Reader.(selection); ok {
			if series, err = whole.Reader.ListSeries(ctx, func(string) bool { return true }); err != nil {
				return err
			}
			for _, l := range series {
				found.see(o.matchers, l, false)
			}
		}
	}

	return found.err(o.selector, o.matchers)
}

// An againWriter adds to a live source the argument that samples it again, for commands in the result.
type againWriter struct {
	recording.Writer
	argument string
}

// Source passes on where samples come from.
func (w *againWriter) Source(s recording.Source) {
	if w.argument != s.Name {
		facts := map[string]string{recording.FactAgain: w.argument}
		maps.Copy(facts, s.Facts)
		s.Facts = facts
	}
	w.Writer.Source(s)
}

// each runs f for 0 to n-1 concurrently. The first error cancels the others. It returns the error
// of the lowest number that is not such a cancellation, so that the same mistake gives the same
// message.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	// Not WithCancelCause: an HTTP request that is cancelled fails with the cause, as if it were
	// its own.
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, n)

	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if errs[i] = f(inner, i); errs[i] != nil {
				cancel()
			}
		})
	}

	wg.Wait()
	var first error
	for _, err := range errs {
		switch {
		case err == nil:
		case first == nil:
			first = err
		// A cancellation is only a consequence of another error.
		case errors.Is(first, context.Canceled) && !errors.Is(err, context.Canceled):
			first = err
		}
	}

	return first
}

// sourceExamples is the hint for a verb without a source: one example of each kind.
//
//go:embed sources.txt
var sourceExamples string

func needSources(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef(sourceExamples, "%s: no SOURCE given", verb(cmd))
	}
	for i, arg := range args {
		if arg == "" {
			return usagef("", "%s: SOURCE %d is empty", verb(cmd), i+1)
		}
	}
	return nil
}

// A sourcesVerb is a verb that takes sources as arguments.
type sourcesVerb interface {
	AddFlags(cmd *cobra.Command)
	Validate(cmd *cobra.Command, args []string, now time.Time) error
	Run(ctx context.Context, a *app, args []string) error
}

// newSourcesCommand makes the command of such a verb.
func newSourcesCommand(a *app, use string, o sourcesVerb) *cobra.Command {
	cmd := &cobra.Command{Use: use, Args: needSources, ValidArgsFunction: completeSources}
	o.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.Validate(cmd, args, a.now()); err != nil {
			return err
		}
		return o.Run(cmd.Context(), a, args)
	}
	return cmd
}
