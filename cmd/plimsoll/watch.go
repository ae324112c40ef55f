package main

import (
	"cmp"
	"context"
	"encoding"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/watch"
)

// watchOptions are the flags of `plimsoll watch`.
type watchOptions struct {
	sourceOptions
	output choice
	push   pushOptions
	trace  traceAutoOptions
	volumeOptions

	dir       string
	keep      units.Duration
	keepBytes units.Size
	window    units.Duration
	every     units.Duration
	wait      units.Duration
	addresses []string
	hosts     []string
	webConfig string
}

// The defaults of watch. A day of one database at one second, with all its exporter's series, is a
// few hundred megabytes.
const (
	keepUnasked      = units.Duration(24 * time.Hour)
	keepBytesUnasked = 2 * units.GiB
	addressUnasked   = "127.0.0.1:9814"
	// windowLeast covers some checkpoints of a fast database; a shorter window contains no baseline.
	windowLeast = units.Duration(time.Minute)
	everyLeast  = units.Duration(time.Second)
	// openAgain is the time between two attempts to open a source.
	openAgain = 2 * time.Second
	// closeWithin is how long closing a ring may take: its disk may be the one that stalls.
	closeWithin = time.Second
)

func newWatchCommand(a *app) *cobra.Command {
	o := &watchOptions{keep: keepUnasked, keepBytes: keepBytesUnasked,
		window: units.Duration(watch.WindowDefault), every: units.Duration(watch.EveryDefault)}
	return newSourcesCommand(a, "watch SOURCE...", o)
}

func (o *watchOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	addOutput(cmd, &o.output)
	o.push.AddFlags(cmd)
	o.trace.AddFlags(cmd, true)
	o.bought = true
	o.volumeOptions.AddFlags(cmd, "")
	f.StringVar(
		&o.dir, "out",
		"", "folder of the ring: new, empty, or a ring to continue (default: nothing is kept on disk)")

	f.Var(quantity{&o.keep, "duration"}, "keep-for", "how long the ring keeps samples")
	f.Var(quantity{&o.keepBytes, "size"}, "keep-size", "maximum size of the ring, including its log")
	f.Var(quantity{&o.window, "duration"}, "window", "how much recent time to diagnose")
	f.Var(quantity{&o.every, "duration"}, "every", "time between diagnoses; longer if they are slow")
	f.Var(quantity{&o.wait, "duration"}, "wait", "how long to wait for sources that cannot be reached yet")
	f.StringArrayVar(&o.addresses, "web.listen-address",
		[]string{addressUnasked}, "address to serve on (repeatable)")
	f.StringArrayVar(&o.hosts, "web.host",
		nil, "accept requests for this host name, such as a proxy's, in addition to addresses and localhost (repeatable)")
	f.StringVar(
		&o.webConfig, "web.config.file", "", "TLS and password configuration, in the exporters' usual format")
	f.DurationVar(&o.period, "period", time.Second, "how often to sample")
	f.StringVar(&o.tz, "tz", "", "time zone for output, such as Europe/Berlin (default: this machine's)")
	f.StringArrayVar(&o.offsets, "offset", nil, "add to the clock of all sources (2s) or of one (repeatable)")
	f.BoolVar(&o.insecure, "insecure", false, "accept any TLS certificate of a source")
}

// Validate checks the flags alone, without opening anything.
func (o *watchOptions) Validate(cmd *cobra.Command, args []string, now time.Time) error {
	if err := cmp.Or(o.sourceOptions.Validate(cmd, args, now), o.push.Validate(), o.trace.Validate(cmd),
		o.volumeOptions.Validate()); err != nil {
		return err
	}

	switch {
	case o.window < windowLeast:
		return usagef("15m is the default", "--window %s: want %s or more", o.window, windowLeast)
	case o.every < everyLeast:
		return usagef("30s is the default; stalls are noticed within seconds in any case",
			"--every %s: want %s or more", o.every, everyLeast)
	case o.every > o.window:
		return usagef("the time between two windows would not be diagnosed",
			"--every %s is longer than --window %s", o.every, o.window)
	// The window is diagnosed from the recording, which must hold all of it.
	case o.dir != "" && o.keep < o.window:
		return usagef("for example --keep-for 24h", "--keep-for %s is shorter than --window %s", o.keep, o.window)
	case o.dir != "" && o.keepBytes < recording.RingBytesMin:
		return usagef("for example --keep-size 2GiB", "--keep-size %s: want %s or more", o.keepBytes.Exact(),
			units.Size(recording.RingBytesMin).Exact())
	case len(o.addresses) == 0 || o.addresses[0] == "":
		return usagef("for example --web.listen-address "+addressUnasked, "--web.listen-address is empty")
	}

	for i, text := range o.hosts {
		name, err := watch.ParseHost(text)
		if err != nil {
			return usagef("for example --web.host plimsoll.example.net", "--web.host: %w", err)
		}
		o.hosts[i] = name
	}

	// Without --out the recording is in memory and bounded by --window, so these would have no
	// effect.
	for _, name := range []string{"keep-for", "keep-size"} {
		if o.dir == "" && cmd.Flags().Changed(name) {
			return usagef("for example --out /var/lib/plimsoll", "--%s needs --out", name)
		}
	}

	return nil
}

// Run watches until the context ends.
func (o *watchOptions) Run(ctx context.Context, env *app, args []string) (err error) {
	known, err := o.limits(env)
	if err != nil {
		return err
	}

	// A terminal or pipe that is not read must not stop the sampling.
	errs, out := o.queue(env, env.stderr), o.queue(env, env.stdout)
	defer errs.close()
	defer out.close()
	log, changes := o.logger(env, errs), o.logger(env, out)
	if o.output.value == "text" && env.stdout.terminal {
		changes = o.lines(env, out)
	}
	if o.output.value == "text" && env.stderr.terminal {
		log = o.lines(env, errs)
	}

	// Listen first: a port in use must fail before sources are opened.
	server, err := watch.Listen(ctx,
		watch.ServerOptions{Addresses: o.addresses, Config: o.webConfig, Hosts: o.hosts})
	if err != nil {
		return err
	}

	defer server.Close()
	inputs, err := o.openLive(ctx, env, args, log)
	if err != nil {
		return err
	}

	defer closeAll(inputs)
	b := thisBuild()
	opt := watch.Options{Pack: pack(), Window: o.window.Std(), Every: o.every.Std(), Changes: changes, Log: log,
		Program: "plimsoll " + b.Version, Version: b.Version, Location: o.zone, Known: known,
		AcceptMarks: server.Trusted, Tracing: o.trace.options(), Check: o.volumeOptions.apply}

	if opt.Host, err = os.Hostname(); err != nil {
		opt.Host = "" // the page does without it
	}

	if o.dir != "" {
		ring, err := recording.Create(o.dir,
			recording.DiskOptions{Keep: o.keep.Std(), KeepBytes: int64(o.keepBytes)})
		if err != nil {
			return err
		}
		opt.Ring = ring
		defer func() { err = errors.Join(err, closeRing(ring, log)) }()
	} else {
		log.Info("nothing is kept on disk; use --out for a ring")
	}

	if o.push.url != "" {
		p, err := newSteadyPusher(ctx, &o.push, &o.sourceOptions)
		if err != nil {
			return err
		}
		defer p.end(log)
		opt.Push = p
	}

	return o.watch(ctx, watch.New(o.watched(inputs), opt), server, log)
}

// watch watches and serves, and at the end logs the cost.
func (o *watchOptions) watch(ctx context.Context, w *watch.Watch, server *watch.Server,
	log *slog.Logger) error {
	defer watch.OneCore()()
	began := time.Now()
	before, _ := watch.ProcessCost()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var serving sync.WaitGroup
	var served error
	go reloadOnHangup(ctx, server, log, cancel)
	go onUserSignal(ctx, func() {
		if _, err := w.Mark(time.Now(), signalMark); err != nil {
			log.Warn("SIGUSR1 could not mark", "error", err)
		}
	})

	serving.Go(func() {
		served = server.Serve(ctx, w.Handler(), log)
		cancel()
	})

	err := w.Run(ctx)
	cancel()
	serving.Wait()

	if c, ok := watch.ProcessCost(); ok {
		took := time.Since(began)
		log.Info("watching ended", "after", took.Round(time.Second).String(),
			"cpu", fmt.Sprintf("%.2f %% of a core", 100*(c.CPU-before.CPU).Seconds()/took.Seconds()),
			"memory_at_most", units.Bytes(float64(c.PeakBytes)))
	}

	return errors.Join(err, served)
}

// openLive opens the sources, all of which have to be live; with --wait it tries again for a while.
func (o *watchOptions) openLive(ctx context.Context, a *app, args []string,
	log *slog.Logger) ([]input, error) {
	began := time.Now()
	for reported := false; ; reported = true {
		inputs, err := o.open(ctx, a, args)
		var f *failure

		// A failure is a usage error, which waiting cannot repair.
		if err != nil && ctx.Err() == nil && !errors.As(err, &f) && time.Since(began) < o.wait.Std() {
			if !reported {
				log.Warn("a source cannot be read yet; waiting for it", "error", err, "at_most", o.wait.String())
			}
			select {
			case <-time.After(openAgain):
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}

		if err != nil {
			return nil, err
		}

		for _, in := range inputs {
			// Readers are recordings and servers that are queried directly. They cannot be sampled.
			if !in.live() {
				closeAll(inputs)
				return nil,
					usagef("watch needs live sources: host, a /metrics address, or the address of a running database; for this one: plimsoll diagnose",
						"%s is not a live source: it has nothing new to watch", in.Describe().Name)
			}
		}

		return inputs, nil
	}
}

// closeRing closes the ring, unless its disk does not respond. Samples that are not in a block yet
// remain in the ring's log.
func closeRing(ring *recording.Disk, log *slog.Logger) error {
	// The buffer lets the goroutine end even if nothing receives any more.
	closed := make(chan error, 1)
	go func() { closed <- ring.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(closeWithin):
		log.Warn("the ring's disk does not respond; the ring stays as it is and can be read")
		return nil
	}
}

// queue is an output that may block without stopping the watch.
func (o *watchOptions) queue(a *app, w io.Writer) *lineQueue {
	return newLineQueue(w, func(n int) {
		o.logger(a, w).Warn("lines were dropped here: the output was not read", "lines", n)
	})
}

// logger writes lines as text or JSON, with times in the chosen zone and without secrets.
func (o *watchOptions) logger(a *app, w io.Writer) *slog.Logger {
	opt := &slog.HandlerOptions{ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
		switch attr.Value.Kind() {
		case slog.KindTime:
			attr.Value = slog.TimeValue(attr.Value.Time().In(o.zone))
		// Errors from clients may quote addresses that contain passwords.
		case slog.KindString, slog.KindAny:
			attr.Value = slog.StringValue(a.secrets.Hide(attr.Value.String()))
		}
		return attr
	}}
	if o.output.value == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// lines writes lines for a person at a terminal.
func (o *watchOptions) lines(a *app, w io.Writer) *slog.Logger {
	return slog.New(&lineHandler{w: w, zone: o.zone, hide: a.secrets.Hide})
}

// A quantity is a flag whose value has a unit.
type quantity struct {
	value interface {
		encoding.TextMarshaler
		encoding.TextUnmarshaler
	}
	kind string
}

func (q quantity) String() string {
	if q.value == nil { // the library compares with this
		return ""
	}
	text, err := q.value.MarshalText()
	if err != nil {
		return ""
	}
	return string(text)
}

// Type is the name of the value in the help.
func (q quantity) Type() string { return q.kind }

// Set parses a value; the error shows the format.
func (q quantity) Set(text string) error { return q.value.UnmarshalText([]byte(text)) }
