package top

import (
	"context"
	"errors"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/watch"
)

// liveEvery is the time between diagnoses, unless they take long: a person is looking.
const liveEvery = 5 * time.Second

// A Live is the feed of live sources: their window, which a watch keeps and diagnoses.
type Live struct {
	w      *watch.Watch
	panics chan any
}

// LiveOptions are the options of live sources.
type LiveOptions struct {
	Pack    *rules.Pack
	Window  time.Duration  // of recent time
	Known   headroom.Known // limits
	Tracing watch.TracingOptions
	// Check is that of [watch.Options]: an error ends the screen.
	Check func(ctx context.Context, in []recording.Reader) error
}

// NewLive prepares to watch live sources. Nothing is read before Run.
func NewLive(inputs []watch.Input, opt LiveOptions) *Live {
	l := &Live{panics: make(chan any, 1)}
	for i := range inputs {
		inputs[i].Source = guarded{inputs[i].Source, l.panics}
	}
	l.w = watch.New(inputs, watch.Options{Pack: opt.Pack, Window: opt.Window, Every: liveEvery, Known: opt.Known,
		Tracing: opt.Tracing, Check: opt.Check})
	return l
}

// Run watches until the context ends.
func (l *Live) Run(ctx context.Context) error {
	defer func() {
		if p := recover(); p != nil {
			l.panics <- p
		}
	}()
	return l.w.Run(ctx)
}

// Panics gives what a goroutine that samples or judges panicked with: whoever has the terminal
// restores it first.
func (l *Live) Panics() <-chan any { return l.panics }

// Live implements [Feed].
func (*Live) Live() bool { return true }

// Bounds implements [Feed].
func (*Live) Bounds() (from, to time.Time) { return from, to }

// Load implements [Feed].
func (l *Live) Load(ctx context.Context, _ time.Time) (*rules.Case, *diagnose.Report, error) {
	c, err := l.w.Lay(ctx)
	if err != nil {
		if errors.Is(err, diagnose.ErrNothing) {
			err = ErrWaiting
		}
		return nil, nil, err
	}
	return c, l.w.Report(), nil
}

// Mark implements [Feed].
func (l *Live) Mark(at time.Time, text string) (string, error) {
	_, err := l.w.Mark(at, text)
	return "while top runs; plimsoll mark TEXT keeps it in a watch or a recording", err
}

// A guarded source reports a panic of its reading.
type guarded struct {
	source.Source
	panics chan<- any
}

// Read implements [source.Source].
func (g guarded) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	defer func() {
		if p := recover(); p != nil {
			g.panics <- p
			<-ctx.Done() // the process ends
		}
	}()
	return g.Source.Read(ctx, w, opt)
}
