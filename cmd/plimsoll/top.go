package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/present/frame"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/watch"
	"plimsoll/internal/watch/top"
)

// topOptions are the flags of `plimsoll top`.
type topOptions struct {
	sourceOptions
	display
	volumeOptions
	trace       traceAutoOptions
	batch, once bool
	frames      int
	at          string
	window      units.Duration
	order       choice

	atTime time.Time // set by Validate
}

func newTopCommand(a *app) *cobra.Command {
	return newSourcesCommand(a, "top SOURCE...", &topOptions{window: units.Duration(watch.WindowDefault)})
}

func (o *topOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&o.batch, "batch", "b",
		false, "print frames as text, one after the other, instead of using the terminal")
	f.IntVarP(&o.frames, "frames", "n", 0, "with --batch, how many; 0: until interrupted")
	f.BoolVar(&o.once, "once", false, "print one frame as text: --batch --frames 1")
	f.StringVar(&o.at, "at", "", "of a recording, the moment to begin with")
	f.Var(
		quantity{&o.window, "duration"}, "window", "of live sources, how much recent time to keep and diagnose")
	o.order.value = frame.ByBusy.String()
	addChoice(cmd, &o.order, "sort", "", "order of the devices", orders()...)
	o.bought = true
	o.volumeOptions.AddFlags(cmd, "")
	o.sourceOptions.AddFlags(cmd)
	o.display.AddFlags(cmd)
	o.trace.AddFlags(cmd, true)
}

// orders are the names of the orders of devices.
func orders() (out []string) {
	for s := frame.ByBusy; ; {
		out = append(out, s.String())
		if s = s.Next(); s == frame.ByBusy {
			return out
		}
	}
}

// Validate checks the flags alone, without opening anything.
func (o *topOptions) Validate(cmd *cobra.Command, args []string, now time.Time) (err error) {
	if err := cmp.Or(o.sourceOptions.Validate(cmd, args, now), o.display.Validate(cmd),
		o.volumeOptions.Validate(), o.trace.Validate(cmd)); err != nil {
		return err
	}

	if o.once {
		o.batch, o.frames = true, 1
	}

	switch {
	case o.frames < 0 || o.frames > 0 && !o.batch:
		return usagef("for example --batch --frames 10", "--frames %d needs --batch", o.frames)
	case o.window < windowLeast:
		return usagef("15m is the default", "--window %s: want %s or more", o.window, windowLeast)
	}

	o.atTime, err = parseMoment("--at", o.at, now, o.zone)
	return err
}

// Run shows the sources on the terminal, or prints frames.
func (o *topOptions) Run(ctx context.Context, env *app, args []string) error {
	if !o.batch && (!env.stdout.terminal || !term.IsTerminal(int(os.Stdin.Fd())) ||
		env.getenv("TERM") == "dumb") {
		return failf(exitUsage, "plimsoll top --once SOURCE prints one frame as text, --batch one after the other",
			"top needs a terminal for its screen and its keys")
	}

	// --for bounds the whole display, not each source.
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}

	inputs, err := o.open(ctx, env, args)
	if err != nil {
		return err
	}

	defer closeAll(inputs)
	live := 0
	for _, in := range inputs {
		if in.live() {
			live++
		}
	}

	// Live sources move with the clock and recordings with the keys, so one screen cannot show
	// both.
	if live > 0 && live < len(inputs) {
		return usagef("give live sources, or recordings", "top shows live sources or recordings, not both")
	}
	if live == 0 && o.trace.asked() {
		return usagef("plimsoll top host --trace auto", "--trace auto needs a live source, not a recording")
	}

	known, err := o.limits(env)
	if err != nil {
		return err
	}

	shown := o.options(env)
	opt := top.Options{View: frame.View{Width: shown.Width, ASCII: shown.ASCII, Sources: o.named(inputs),
		Zone: o.zone, Sort: o.sort()}, Color: shown.Color, At: o.atTime}
	if live > 0 {
		return o.live(ctx, env, inputs, known, opt)
	}

	return o.replay(ctx, env, inputs, args, known, opt)
}

// sort is the order of --sort.
func (o *topOptions) sort() frame.Sort {
	s := frame.ByBusy
	for s.String() != o.order.value {
		s = s.Next()
	}
	return s
}

func (o *topOptions) named(inputs []input) string {
	var names []string
	for _, in := range inputs {
		if in.Reader == nil {
			names = append(names, in.Source.Describe().Name)
			continue
		}
		for _, s := range in.Reader.Sources() {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, ", ")
}

func (o *topOptions) live(ctx context.Context, a *app, inputs []input, known headroom.Known,
	opt top.Options) (err error) {
	defer watch.OneCore()()
	l := top.NewLive(o.watched(inputs), watch.Options{Pack: pack(), Window: o.window.Std(), Known: known,
		Tracing: o.trace.options(), Check: o.volumeOptions.apply})
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { err = errors.Join(err, l.Run(ctx)) })
	opt.Feed, opt.Panics = l, l.Panics()

	// The screen ends on a key, the context or an error; then the sampling has no purpose.
	shown := o.show(ctx, a, opt)
	cancel()
	watching.Wait()

	return errors.Join(shown, err)
}

func (o *topOptions) replay(ctx context.Context, env *app, inputs []input, args []string,
	known headroom.Known,
	opt top.Options) error {
	t, stop := env.progress()
	readers, memories := readersOf(inputs)

	o.lookback = judgedLookback
	err := o.readAll(ctx, inputs, diagnose.Wants(pack()), t, func(i int) recording.Writer { return memories[i] })
	stop()

	if err != nil {
		return err
	}

	if err := o.volumeOptions.apply(ctx, readers); err != nil {
		return err
	}

	// Marks go into the folder with its own clock, which an offset would falsify.
	folder := ""
	if len(args) == 1 && recording.IsRecording(args[0]) && o.clockOffsets.of(args[0]) == 0 {
		folder = args[0]
	}

	r, err := top.NewReplay(ctx, readers, diagnose.Options{Pack: pack(), From: o.fromAt, To: o.toAt,
		Known: known, Hosts: o.hosts.of(inputs)}, folder)
	if err != nil {
		return err
	}

	opt.Feed = r
	return o.show(ctx, env, opt)
}

func (o *topOptions) show(ctx context.Context, a *app, opt top.Options) error {
	if o.batch {
		return top.Batch(ctx, a.stdout, opt, o.frames)
	}
	return top.Show(ctx, opt)
}
