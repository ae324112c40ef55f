package top

import (
	"context"
	"errors"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/watch"
)

// liveEvery is the time between diagnoses, unless they take long. It is short because a person is
// watching.
const liveEvery = 5 * time.Second

// A Live is the feed of live sources: a watch keeps and diagnoses their window.
type Live struct {
	w      *watch.Watch
	panics chan any
}

// NewLive prepares to watch live sources. Nothing is read before Run. An error of the options' Check ends
// the screen.
func NewLive(inputs []watch.Input, opt watch.Options) *Live {
	l := &Live{panics: make(chan any, 1)}
	// A panic in a source's goroutine would end the process with the terminal in raw mode.
	for i := range inputs {
		inputs[i].Source = guarded{inputs[i].Source, l.panics}
	}
	opt.Every = liveEvery
	l.w = watch.New(inputs, opt)
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

// Panics returns the panics of goroutines that sample or judge, so that the owner of the terminal
// can restore it first.
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

// A guarded source reports panics while it is read.
type guarded struct {
	source.Source
	panics chan<- any
}

// Read implements [source.Source].
func (g guarded) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	defer func() {
		if p := recover(); p != nil {
			g.panics <- p
			<-ctx.Done() // the process is about to exit
		}
	}()
	return g.Source.Read(ctx, w, opt)
}
