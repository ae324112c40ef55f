package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/watch"
)

// traceAutoOptions are the flags of the verbs that trace while something stalls.
type traceAutoOptions struct {
	when    choice
	lasts   time.Duration
	perHour time.Duration
	slower  time.Duration
}

// AddFlags adds the flags. hourly is set for verbs that run for hours.
func (o *traceAutoOptions) AddFlags(cmd *cobra.Command, hourly bool) {
	f := cmd.Flags()
	o.when.value = "off"
	addChoice(cmd,
		&o.when, "trace", "", "trace slow system calls while something stalls, where that is possible",
		"auto", "off")
	f.DurationVar(&o.lasts, "trace-for",
		watch.TraceForDefault, "with --trace auto, how long to trace each stall")
	f.DurationVar(&o.slower, "trace-slower-than",
		20*time.Millisecond, "with --trace auto, explain calls that took at least this long")

	if hourly {
		f.DurationVar(&o.perHour, "trace-per-hour",
			watch.TracePerHourDefault, "with --trace auto, how long to trace in an hour at most")
	}
}

// Validate checks the flags.
func (o *traceAutoOptions) Validate(cmd *cobra.Command) error {
	for _, name := range []string{"trace-for", "trace-per-hour", "trace-slower-than"} {
		if cmd.Flags().Changed(name) && !o.asked() {
			return usagef("", "--%s needs --trace auto", name)
		}
	}
	switch {
	case o.lasts < time.Second || o.lasts > 10*time.Minute:
		return usagef("--trace-for 30s", "--trace-for %s: want 1s to 10m", o.lasts)
	case cmd.Flags().Lookup("trace-per-hour") != nil && (o.perHour < o.lasts || o.perHour > time.Hour):
		return usagef("--trace-per-hour 5m", "--trace-per-hour %s: want --trace-for to 1h", o.perHour)
	case o.slower < 100*time.Microsecond || o.slower > time.Hour:
		return usagef("--trace-slower-than 20ms", "--trace-slower-than %s: want 100us to 1h", o.slower)
	}
	return nil
}

func (o *traceAutoOptions) asked() bool { return o.when.value == "auto" }

// options returns the options for tracing, without a tracer if tracing is off.
func (o *traceAutoOptions) options() watch.TracingOptions {
	if !o.asked() {
		return watch.TracingOptions{}
	}
	return watch.TracingOptions{Tracer: newTracer(o.slower), For: o.lasts, PerHour: o.perHour}
}

// observeEvery is how often diagnose checks for a stall while it samples.
const observeEvery = 2 * time.Second

// traceWhile traces while read reads live sources into memories, if something stalls. It returns what
// was measured; nil if nothing was.
func (o *traceAutoOptions) traceWhile(ctx context.Context, a *app, from []recording.Reader,
	read func() error) (recording.Reader, error) {
	opt := o.options()

	// One diagnosis is short: only the time of each trace bounds it.
	opt.PerHour = time.Hour
	opt.Report = func(level slog.Level, message string, err error) {
		switch {
		case err != nil:
			fmt.Fprintf(a.stderr, "plimsoll: %s: %v\n", message, err)
		case level > slog.LevelInfo:
			fmt.Fprintf(a.stderr, "plimsoll: %s\n", message)
		}
	}

	memory := recording.NewMemory(recording.MemoryOptions{})
	tracing := watch.NewTracing(opt, memory)
	if tracing == nil {
		return nil, read()
	}

	ctx, cancel := context.WithCancel(ctx)
	looking := make(chan struct{})
	go func() {
		defer close(looking)
		tick := time.NewTicker(observeEvery)
		defer tick.Stop()

		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			// Errors are expected until the sources have enough samples.
			if c, err := diagnose.Felt(ctx, from, diagnose.Options{Pack: pack()}); err == nil {
				tracing.Observe(ctx, c)
			}
		}
	}()

	err := read()
	cancel() // ends a trace, too
	<-looking
	tracing.Wait()

	// Nothing stalled, so no trace was taken.
	if len(memory.Sources()) == 0 {
		return nil, err
	}

	return memory, err
}
