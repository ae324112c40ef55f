//go:build linux

package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Step is a part of a rollout that is begun as a whole and done as a whole.
//
// Do and Undo must be safe to run again after they were cut off at any point.
type Step struct {
	Name   string // identifies it in the state: "m1: copy"
	Member string // "" for a step that concerns all of them
	What   string // what it does, in one sentence
	Needs  string // the precondition, in words; "" for none
	Checks string // the check, in words; "" for none
	Undoes string // how it is undone, in words; "" if there is nothing to undo
	// Down says that the engine does not run when the step is done: a bad place to stop.
	Down bool
	// Patient steps only wait and read; they can be interrupted.
	Patient bool

	// Require fails if the step must not begin. It changes nothing.
	Require func(context.Context) error
	Do      func(context.Context) error
	// Check fails if Do did not lead to what it should.
	Check func(context.Context) error
	Undo  func(context.Context) error
	// Finish removes what was kept for Undo.
	Finish func(context.Context) error
}

// A StepError says at which step a rollout stopped, and why.
type StepError struct {
	Step  string
	Stage string // "precondition", "action", "check", "undo", "finish"
	Down  bool   // the engine may be stopped
	Err   error
}

func (e *StepError) Error() string {
	down := ""
	if e.Down {
		down = " (the engine is stopped)"
	}
	return fmt.Sprintf("stopped at %q, %s failed%s: %v", e.Step, e.Stage, down, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// Hint says what can be done.
func (e *StepError) Hint() string {
	switch e.Stage {
	case "undo":
		return "remove the reason, then plimsoll rollout --undo goes on"
	case "finish":
		return "remove the reason, then plimsoll rollout --finish goes on"
	}
	return "plimsoll rollout --resume tries it again, once the reason is gone; --undo goes back"
}

// ErrInterrupted says that a rollout stopped at a safe point because it was asked to.
var ErrInterrupted = errors.New("interrupted at a safe point")

// forward does every step that is not done yet.
func (r *Rollout) forward(ctx context.Context) error {
	for i := range r.steps {
		s, is := &r.steps[i], &r.state.Steps[i]
		if is.Phase == done {
			continue
		}
		if down := i > 0 && r.steps[i-1].Down; ctx.Err() != nil && !down {
			return fmt.Errorf("%w, before %q: %w", ErrInterrupted, s.Name, ctx.Err())
		}
		if err := r.step(ctx, s, is); err != nil {
			if s.Patient && ctx.Err() != nil {
				return fmt.Errorf("%w, in %q: %w", ErrInterrupted, s.Name, ctx.Err())
			}
			return err
		}
	}
	return nil
}

func (r *Rollout) step(ctx context.Context, s *Step, is *StepState) error {
	if !s.Patient {
		ctx = context.WithoutCancel(ctx) // it ends at a safe point only
	}
	fail := func(stage string, err error) error {
		return &StepError{Step: s.Name, Stage: stage, Down: s.Down && is.Phase != "", Err: err}
	}
	r.say(s.Name)
	if is.Phase == "" {
		if err := call(ctx, s.Require); err != nil {
			return fail("precondition", err)
		}
	}
	if err := r.enter(is, begun); err != nil {
		return err
	}
	if err := call(ctx, s.Do); err != nil {
		return fail("action", err)
	}
	r.at("did " + s.Name)
	if err := call(ctx, s.Check); err != nil {
		return fail("check", err)
	}
	return r.enter(is, done)
}

// back undoes every step that was begun, the last one first.
func (r *Rollout) back(ctx context.Context) error {
	for i := len(r.steps) - 1; i >= 0; i-- {
		s, is := &r.steps[i], &r.state.Steps[i]
		if is.Phase == "" || is.Phase == undone {
			continue
		}
		if s.Undo != nil {
			r.say("undo " + s.Name)
		}
		if err := r.enter(is, undoing); err != nil {
			return err
		}
		// An engine that is stopped meanwhile must run again before this may end.
		if err := call(context.WithoutCancel(ctx), s.Undo); err != nil {
			return &StepError{Step: s.Name, Stage: "undo", Down: s.Down, Err: err}
		}
		r.at("undid " + s.Name)
		if err := r.enter(is, undone); err != nil {
			return err
		}
	}
	return nil
}

// finish removes what was kept, once nobody wants to go back.
func (r *Rollout) finish(ctx context.Context) error {
	for i := range r.steps {
		s := &r.steps[i]
		if err := call(context.WithoutCancel(ctx), s.Finish); err != nil {
			return &StepError{Step: s.Name, Stage: "finish", Err: err}
		}
		r.at("finished " + s.Name)
	}
	return nil
}

func call(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}

// enter writes down that a step is in a phase, before anything else happens.
func (r *Rollout) enter(is *StepState, p Phase) error {
	if is.Phase == p {
		return nil
	}
	is.Phase, is.At = p, time.Now().UTC()
	err := r.save()
	r.at(string(p) + " " + is.Name)
	return err
}
