// Package top shows a database and its storage on one terminal screen, one frame a second: live
// sources, or a replayed recording.
//
// Package frame generates what is on the screen, and [State.Press] implements the keys: both are
// pure, so that only drawing lines on a terminal needs one. The terminal library is tcell, which
// draws changes and restores the previous content. The terminal is restored in all cases: after a
// key, a signal, an error, a panic in this package or while a source is read.
package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/frame"
)

// A Feed provides what is known around a moment.
type Feed interface {
	// Load returns the case and the diagnosis of a period that includes the moment, or of the
	// newest period for a zero one. The report is nil while there is none. [ErrWaiting] means that
	// there are not enough samples yet.
	Load(ctx context.Context, at time.Time) (*rules.Case, *diagnose.Report, error)
	// Live reports whether time advances by itself.
	Live() bool
	// Bounds returns the first and last moment that can be shown; zero for live sources.
	Bounds() (from, to time.Time)
	// Mark marks a moment, and returns where the mark is stored.
	Mark(at time.Time, text string) (where string, err error)
}

// ErrWaiting means that there are not enough samples yet.
var ErrWaiting = errors.New("waiting for samples")

// Options configure a screen.
type Options struct {
	Feed Feed
	View frame.View
	// Color enables colours; without it, bold, dim and reverse remain.
	Color bool
	// At is the initial moment; zero means the newest of live sources, or the first of a recording.
	At time.Time
	// Panics receives panics of the sources' goroutines.
	Panics <-chan any
}

// frameEvery is the duration of a frame.
const frameEvery = time.Second

// loaded is the result of a request to a feed.
type loaded struct {
	c   *rules.Case
	r   *diagnose.Report
	err error
	// panicked is the value of a panic, if there was one.
	panicked any
}

// load requests data from the feed, and recovers from panics.
func load(ctx context.Context, f Feed, at time.Time) (out loaded) {
	defer func() {
		if p := recover(); p != nil {
			out = loaded{panicked: p}
		}
	}()
	out.c, out.r, out.err = f.Load(ctx, at)
	return out
}

// onceWithin is how long a live source may take until its first frame is printed without a
// diagnosis, and onceCells is the minimum number of cells for a first frame before that.
const (
	onceWithin = 15 * time.Second
	onceCells  = 3
)

// Batch prints frames as text, one a second, up to a maximum number; 0 means unlimited. The first
// one waits for a diagnosis. With a single frame, a recording is shown at its end, unless the
// options specify a moment.
func Batch(ctx context.Context, w io.Writer, opt Options, frames int) error {
	state := newState(opt)
	if !opt.Feed.Live() && frames == 1 && opt.At.IsZero() {
		_, state.At = opt.Feed.Bounds()
	}

	began := time.Now()
	for printed := 0; frames == 0 || printed < frames; {
		got := load(ctx, opt.Feed, state.wanted())
		switch {
		case got.panicked != nil:
			panic(got.panicked)
		case ctx.Err() != nil:
			return nil //nolint:nilerr // a canceled context is not an error
		case got.err != nil && !errors.Is(got.err, ErrWaiting):
			return got.err
		}

		// A live source needs a few samples before rates and a diagnosis exist.
		ready := got.r != nil && got.c != nil && got.c.Grid.N >= onceCells
		if ready || printed > 0 || time.Since(began) > onceWithin {
			if printed > 0 {
				if _, err := io.WriteString(w, "\n"); err != nil {
					return fmt.Errorf("cannot write a frame: %w", err)
				}
			}

			m := state.moment(got)
			if _, err := io.WriteString(w, frame.Text(frame.Render(m, state.view(opt.View)), opt.Color)); err != nil {
				return fmt.Errorf("cannot write a frame: %w", err)
			}

			if printed++; printed == frames || state.atEnd() {
				return nil
			}

			state.tick()
		}

		if opt.Feed.Live() || !ready {
			t := time.NewTimer(frameEvery)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return nil
			case p := <-opt.Panics:
				panic(p)
			}
		}
	}

	return nil
}
