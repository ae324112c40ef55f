// Package steps runs steps one after the other, forward or back, so that the process can be killed at
// any moment: before and after each it writes down where it stands, and the next run continues.
package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Directions of a rollout. It is asked for a direction once, and keeps it when it is resumed.
const (
	GoesForward = "forward"
	GoesBack    = "undoing"
	IsUndone    = "undone"
	IsFinishing = "finishing"
	IsFinished  = "finished"
)

// A Phase is how far a step has come.
type Phase string

// The phases of a step; "" is one that was not begun.
const (
	Begun   Phase = "begun"
	Done    Phase = "done"
	Undoing Phase = "undoing"
	Undone  Phase = "undone"
)

// A State is how far a step has come.
type State struct {
	Name  string    `json:"name"`
	Phase Phase     `json:"phase,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// A Course is steps in their order, and where they stand.
type Course struct {
	Steps []Step
	// Stand is how far each has come. It is changed in place, and saved before anything else happens.
	Stand []State
	Save  func() error
	// Say reports what happens now, and At every point at which a test may end the process; nil for
	// neither.
	Say func(text string)
	At  func(point string)
	// With are the arguments that every command for this rollout takes.
	With string
}

// Begin joins the steps with where they stand, which is nowhere if stand is empty.
func (c *Course) Begin(stand []State) error {
	if c.Stand = stand; len(stand) == 0 {
		for i := range c.Steps {
			c.Stand = append(c.Stand, State{Name: c.Steps[i].Name})
		}
		return nil
	}
	if !slices.EqualFunc(c.Steps, c.Stand, func(a Step, b State) bool { return a.Name == b.Name }) {
		return errors.New("the rollout was begun by a version of plimsoll with other steps: go on with that one")
	}
	return nil
}

// IsDone reports whether every step is done.
func (c *Course) IsDone() bool {
	return !slices.ContainsFunc(c.Stand, func(s State) bool { return s.Phase != Done })
}

// HasBegun reports whether any step was begun.
func HasBegun(stand []State) bool {
	return slices.ContainsFunc(stand, func(s State) bool { return s.Phase != "" })
}

func (c *Course) say(text string) {
	if c.Say != nil {
		c.Say(text)
	}
}

func (c *Course) at(point string) {
	if c.At != nil {
		c.At(point)
	}
}

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
	Step   string
	Stage  string // "precondition", "action", "check", "undo", "finish", or [Saving]
	Engine Standing
	With   string // arguments that every command for this rollout takes: " --on k8s://db/mongo"
	Err    error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("stopped at %q, %s failed%s: %v", e.Step, e.Stage, e.Engine, e.Err)
}

// A Standing says what is known of an engine where a rollout stopped.
type Standing string

// It runs, or it does not, or a step that starts or stops it was cut off.
const (
	Runs      Standing = ""
	IsStopped Standing = " (the engine is stopped)"
	MayBeDown Standing = " (the engine may be stopped)"
)

// standing is how the engine stands at a step: as the one before has left it, as this one leaves it, or
// in between. A step that has not begun has changed nothing.
func (c *Course) standing(i int) Standing {
	before := i > 0 && c.Steps[i-1].Down
	after := c.Steps[i].Down
	if c.Stand[i].Phase == "" {
		after = before
	}
	switch {
	case before && after:
		return IsStopped
	case before || after:
		return MayBeDown
	}
	return Runs
}

func (e *StepError) Unwrap() error { return e.Err }

// Saving is the stage in which a step's phase is written down.
const Saving = "saving the state"

// Hint says what can be done.
func (e *StepError) Hint() string {
	command := "plimsoll rollout" + e.With
	next := command + " --resume tries it again, once the reason is gone; --undo goes back"
	switch e.Stage {
	case "undo":
		next = "once the reason is gone, " + command + " --undo goes on"
	case "finish":
		next = "once the reason is gone, " + command + " --finish goes on"
	case Saving:
		next = command + " --resume goes on in the same direction, once the state can be saved"
	}

	var h interface{ Hint() string }
	if errors.As(e.Err, &h) && h.Hint() != "" {
		return h.Hint() + ". Then " + next
	}

	return next
}

// ErrInterrupted says that a rollout stopped at a safe point because it was asked to.
var ErrInterrupted = errors.New("interrupted at a safe point")

// Forward does every step that is not done yet.
func (c *Course) Forward(ctx context.Context) error {
	for i := range c.Steps {
		s, is := &c.Steps[i], &c.Stand[i]
		if is.Phase == Done {
			continue
		}

		if down := i > 0 && c.Steps[i-1].Down; ctx.Err() != nil && !down {
			return fmt.Errorf("%w, before %q: %w", ErrInterrupted, s.Name, ctx.Err())
		}

		if err := c.step(ctx, i); err != nil {
			if s.Patient && ctx.Err() != nil {
				return fmt.Errorf("%w, in %q: %w", ErrInterrupted, s.Name, ctx.Err())
			}
			return err
		}
	}
	return nil
}

func (c *Course) step(ctx context.Context, i int) error {
	s, is := &c.Steps[i], &c.Stand[i]
	if !s.Patient {
		ctx = context.WithoutCancel(ctx) // it ends at a safe point only
	}

	fail := func(stage string, err error) error {
		return &StepError{Step: s.Name, Stage: stage, Engine: c.standing(i), With: c.With, Err: err}
	}
	c.say(s.Name)
	if is.Phase == "" {
		if err := call(ctx, s.Require); err != nil {
			return fail("precondition", err)
		}
	}

	if err := c.enter(is, Begun); err != nil {
		return fail(Saving, err)
	}

	if err := call(ctx, s.Do); err != nil {
		return fail("action", err)
	}

	c.at("did " + s.Name)
	if err := call(ctx, s.Check); err != nil {
		return fail("check", err)
	}

	if err := c.enter(is, Done); err != nil {
		return fail(Saving, err)
	}

	return nil
}

// Back undoes every step that was begun, the last one first.
func (c *Course) Back(ctx context.Context) error {
	for i := len(c.Steps) - 1; i >= 0; i-- {
		s, is := &c.Steps[i], &c.Stand[i]
		if is.Phase == "" || is.Phase == Undone {
			continue
		}

		if s.Undo != nil {
			c.say("undo " + s.Name)
		}

		fail := func(stage string, err error) error {
			return &StepError{Step: s.Name, Stage: stage, Engine: c.standing(i), With: c.With, Err: err}
		}
		if err := c.enter(is, Undoing); err != nil {
			return fail(Saving, err)
		}

		// An engine that is stopped meanwhile must run again before this may end.
		if err := call(context.WithoutCancel(ctx), s.Undo); err != nil {
			return fail("undo", err)
		}

		c.at("undid " + s.Name)
		if err := c.enter(is, Undone); err != nil {
			return fail(Saving, err)
		}
	}
	return nil
}

// Finish removes what was kept, once nobody wants to go back.
func (c *Course) Finish(ctx context.Context) error {
	for i := range c.Steps {
		s := &c.Steps[i]
		if err := call(context.WithoutCancel(ctx), s.Finish); err != nil {
			return &StepError{Step: s.Name, Stage: "finish", With: c.With, Err: err}
		}
		c.at("finished " + s.Name)
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
func (c *Course) enter(is *State, p Phase) error {
	if is.Phase == p {
		return nil
	}
	was := *is
	is.Phase, is.At = p, time.Now().UTC()
	if err := c.Save(); err != nil {
		*is = was
		return err
	}
	c.at(string(p) + " " + is.Name)
	return nil
}
