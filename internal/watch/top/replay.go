package top

import (
	"context"
	"errors"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/identity"
	"plimsoll/internal/record/recording"
)

const (
	// wholeMost is the longest recording that is judged as a whole. In a longer one, only a step of
	// replayStep around the moment is judged, plus replayBefore and replayAfter.
	wholeMost    = 3 * time.Hour
	replayStep   = 10 * time.Minute
	replayBefore = 30 * time.Minute
	replayAfter  = 10 * time.Minute
	// coarse is the minimum number of samples in a step.
	coarse = 30
)

// A Replay is the feed of recordings.
type Replay struct {
	parts    []identity.Part // the servers
	opt      diagnose.Options
	from, to time.Time
	folder   string // that stores marks; "" if there is none
	step     time.Duration

	loadedFrom, loadedTo time.Time
	last                 loaded
}

// NewReplay replays recordings of the same period of time, or the part of it that the options bound. folder
// is the recording's folder, if there is just one: it stores marks.
func NewReplay(ctx context.Context, in []recording.Reader, opt diagnose.Options, folder string) (*Replay,
	error) {
	r := &Replay{opt: opt, from: opt.From, to: opt.To, folder: folder, step: replayStep}

	var err error
	if r.parts, err = diagnose.Servers(ctx, in, opt); err != nil {
		return nil, err
	}

	for _, reader := range in {
		for _, s := range reader.Sources() {
			r.step = max(r.step, coarse*s.Period)
		}

		metrics, err := reader.Metrics(ctx)
		if err != nil {
			return nil, err
		}

		// Metrics that no rule reads may cover a longer time, in which there is nothing to show.
		for _, m := range metrics {
			if opt.Pack.Wants(m.Name) && !m.From.IsZero() && !m.To.IsZero() {
				r.widen(m.From, m.To)
			}
		}
	}

	if r.from.IsZero() || !r.to.After(r.from) {
		return nil, diagnose.ErrNothing
	}

	return r, nil
}

func (r *Replay) widen(from, to time.Time) {
	if r.opt.From.IsZero() && (r.from.IsZero() || from.Before(r.from)) {
		r.from = from
	}
	if r.opt.To.IsZero() && to.After(r.to) {
		r.to = to
	}
}

// Live implements [Feed].
func (*Replay) Live() bool { return false }

// Bounds implements [Feed].
func (r *Replay) Bounds() (from, to time.Time) { return r.from, r.to }

// window returns the period that is judged for a moment.
func (r *Replay) window(at time.Time) (from, to time.Time) {
	if r.to.Sub(r.from) <= max(wholeMost, 2*r.step) {
		return r.from, r.to
	}
	// Fixed steps, so that moving within a step does not judge again.
	from = at.Truncate(r.step)
	return clamp(from.Add(-max(replayBefore, r.step)), r.from, r.to),
		clamp(from.Add(r.step+replayAfter), r.from, r.to)
}

// Load implements [Feed].
func (r *Replay) Load(ctx context.Context, at time.Time) (*rules.Case, *diagnose.Report, error) {
	from, to := r.window(clamp(at, r.from, r.to))
	if r.last.c != nil && from.Equal(r.loadedFrom) && to.Equal(r.loadedTo) {
		return r.last.c, r.last.r, nil
	}

	opt := r.opt
	opt.From, opt.To = from, to
	report, worst, err := diagnose.Judge(ctx, r.parts, opt)
	if err != nil {
		return nil, nil, err
	}

	c, err := diagnose.Lay(ctx, worst.Readers, opt)
	if err != nil {
		return nil, nil, err
	}

	r.last, r.loadedFrom, r.loadedTo = loaded{c: c, r: report}, from, to
	return c, report, nil
}

// Mark implements [Feed]: it stores the mark in the recording's folder.
func (r *Replay) Mark(at time.Time, text string) (string, error) {
	m, err := recording.NewMark(at, text)
	if err != nil {
		return "", err
	}
	if r.folder == "" {
		return "", errors.New("marks need the folder of a single recording, as created by plimsoll record")
	}
	if err := recording.AddMark(r.folder, m); err != nil {
		return "", err
	}
	return "in " + r.folder, nil
}
