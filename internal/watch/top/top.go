// Package top shows a database and its storage on one terminal screen, a second a frame: live
// sources, or a recording that is replayed.
//
// What is on the screen is made by package frame, and what a key does by [State.Press]: both are pure,
// so that only putting lines on a terminal needs one. The terminal is tcell's, which draws what
// changed and restores what was there. It is restored in every case: a key, a signal, an error, a
// panic of this package or of a source's reading.
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

// A Feed gives what is known around a moment.
type Feed interface {
	// Load gives the case and the diagnosis of a time that includes the moment, or of the newest
	// for a zero one. The report is nil while there is none. [ErrWaiting] says that there are not
	// enough samples yet.
	Load(ctx context.Context, at time.Time) (*rules.Case, *diagnose.Report, error)
	// Live reports whether time goes on by itself.
	Live() bool
	// Bounds are the first and the last moment that can be shown; zero for live ones.
	Bounds() (from, to time.Time)
	// Mark marks a moment, and says where the mark is kept.
	Mark(at time.Time, text string) (where string, err error)
}

// ErrWaiting says that there are not enough samples yet.
var ErrWaiting = errors.New("waiting for samples")

// Options are the options of a screen.
type Options struct {
	Feed Feed
	View frame.View
	// Color allows colours; without it, bold, dim and reverse remain.
	Color bool
	// At is the moment to begin with; zero is the newest of live ones, the first of a recording.
	At time.Time
	// Panics gives what a goroutine of the sources panicked with.
	Panics <-chan any
}

// frameEvery is the time of one frame.
const frameEvery = time.Second

// loaded is what a feed gave.
type loaded struct {
	c   *rules.Case
	r   *diagnose.Report
	err error
	// panicked is what it panicked with instead.
	panicked any
}

// load asks the feed, and survives it.
func load(ctx context.Context, f Feed, at time.Time) (out loaded) {
	defer func() {
		if p := recover(); p != nil {
			out = loaded{panicked: p}
		}
	}()
	out.c, out.r, out.err = f.Load(ctx, at)
	return out
}

// onceWithin is how long a live source may take until its first frame is printed without a diagnosis,
// and onceCells how many cells that frame wants.
const (
	onceWithin = 15 * time.Second
	onceCells  = 3
)

// Batch prints frames as text, a second a frame, at most so many; 0 is no bound. The first waits for
// a diagnosis. A recording's one frame is of its end, unless the options name a moment.
func Batch(ctx context.Context, w io.Writer, opt Options, frames int) error {
	s := newState(opt)
	if !opt.Feed.Live() && frames == 1 && opt.At.IsZero() {
		_, s.At = opt.Feed.Bounds()
	}

	began := time.Now()
	for printed := 0; frames == 0 || printed < frames; {
		got := load(ctx, opt.Feed, s.wanted())
		switch {
		case got.panicked != nil:
			panic(got.panicked)
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it was told to end
		case got.err != nil && !errors.Is(got.err, ErrWaiting):
			return got.err
		}

		ready := got.r != nil && got.c != nil && got.c.Grid.N >= onceCells
		if ready || printed > 0 || time.Since(began) > onceWithin {
			if printed > 0 {
				if _, err := io.WriteString(w, "\n"); err != nil {
					return fmt.Errorf("writing a frame: %w", err)
				}
			}

			m := s.moment(got)
			if _, err := io.WriteString(w, frame.Text(frame.Render(m, s.view(opt.View)), opt.Color)); err != nil {
				return fmt.Errorf("writing a frame: %w", err)
			}

			if printed++; printed == frames || s.atEnd() {
				return nil
			}

			s.tick()
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
