// Package steps runs steps in order, forward or back, so that the process can be killed at any moment:
// it saves its progress before and after each step, and the next run continues from there.
package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Directions of a rollout. A rollout that is resumed keeps its direction.
const (
	GoesForward = "forward"
	GoesBack    = "undoing"
	IsUndone    = "undone"
	IsFinishing = "finishing"
	IsFinished  = "finished"
)

// A Phase is the progress of a step.
type Phase string

// The phases of a step; "" means not begun.
const (
	Begun   Phase = "begun"
	Done    Phase = "done"
	Undoing Phase = "undoing"
	Undone  Phase = "undone"
)

// A State is a step's phase, and when it began.
type State struct {
	Name  string    `json:"name"`
	Phase Phase     `json:"phase,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// A Course is a sequence of steps with their progress.
type Course struct {
	Steps []Step
	// Stand is the progress of each step. Course updates it in place, and saves it before anything else
	// happens.
	Stand []State
	// Direction is saved with the progress.
	Direction *string
	Save      func() error
	// Say reports progress. At is called at every point where a test may kill the process. Either may be
	// nil.
	Say func(text string)
	At  func(point string)
	// With are the arguments that every command for this rollout needs, for hints.
	With string
}

// Begin sets the progress of the steps; an empty stand means that none has begun.
func (c *Course) Begin(stand []State) error {
	if c.Stand = stand; len(stand) == 0 {
		for i := range c.Steps {
			c.Stand = append(c.Stand, State{Name: c.Steps[i].Name})
		}
		return nil
	}
	// The names identify the steps across versions. Resuming with different steps could skip one.
	if !slices.EqualFunc(c.Steps, c.Stand, func(a Step, b State) bool { return a.Name == b.Name }) {
		return errors.New("this rollout was started by a version of plimsoll with different steps: continue with that version")
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

// A Step is the unit of progress of a rollout.
//
// Do and Undo must be safe to repeat after they were interrupted at any point.
type Step struct {
	Name   string // identifies it in the state: "m1: copy"
	Member string // "" for a step that concerns all members
	What   string // what it does, in one sentence
	Needs  string // the precondition, in words; "" for none
	Checks string // the check, in words; "" for none
	Undoes string // how it is undone, in words; "" if there is nothing to undo
	// Down: the engine is stopped after the step, so a rollout should not be interrupted there.
	Down bool
	// Patient steps only wait and read; they can be interrupted.
	Patient bool

	// Require fails if the step must not begin. It changes nothing.
	Require func(context.Context) error
	Do      func(context.Context) error
	// Check fails if Do did not have the intended result.
	Check func(context.Context) error
	Undo  func(context.Context) error
	// Finish removes what was kept for Undo.
	Finish func(context.Context) error
}

// A StepError is the error of the step at which a rollout stopped.
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

// A Standing is what is known about whether the engine runs when a rollout stops.
type Standing string

// MayBeDown applies if a step that starts or stops the engine was interrupted.
const (
	Runs      Standing = ""
	IsStopped Standing = " (the engine is stopped)"
	MayBeDown Standing = " (the engine may be stopped)"
)

// standing returns whether the engine runs at a step: as the previous step left it, as this one leaves
// it, or unknown if the two differ. A step that has not begun has changed nothing.
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

// Saving is the stage in which a step's phase is saved.
const Saving = "saving the state"

// Hint returns what to do next.
func (e *StepError) Hint() string {
	command := "plimsoll rollout" + e.With
	next := command + " --resume retries after you fix the cause; --undo goes back"
	switch e.Stage {
	case "undo":
		next = "after you fix the cause, continue with " + command + " --undo"
	case "finish":
		next = "after you fix the cause, continue with " + command + " --finish"
	case Saving:
		next = command + " --resume continues in the same direction once the state can be saved"
	}

	var h interface{ Hint() string }
	if errors.As(e.Err, &h) && h.Hint() != "" {
		return h.Hint() + ". Then " + next
	}

	return next
}

// ErrInterrupted means that a rollout stopped at a safe point on request.
var ErrInterrupted = errors.New("interrupted at a safe point")

// Run completes the course in its direction.
func (c *Course) Run(ctx context.Context) error {
	run, ends := c.Forward, ""
	switch *c.Direction {
	case GoesForward:
	case GoesBack:
		run, ends = c.Back, IsUndone
	case IsFinishing:
		run, ends = c.Finish, IsFinished
	case IsUndone, IsFinished:
		return nil
	default:
		return Inputf("restore the rollout's state: its direction is wrong", "unknown direction %q", *c.Direction)
	}

	// Save before acting: a state that cannot be saved must stop the rollout while nothing has changed.
	if err := c.Save(); err != nil {
		return err
	}

	if err := run(ctx); err != nil || ends == "" {
		return err
	}

	*c.Direction = ends
	return c.Save()
}

// Forward runs every step that is not done yet.
func (c *Course) Forward(ctx context.Context) error {
	for i := range c.Steps {
		s, is := &c.Steps[i], &c.Stand[i]
		if is.Phase == Done {
			continue
		}

		// Never stop on request while the engine is down.
		if down := i > 0 && c.Steps[i-1].Down; ctx.Err() != nil && !down {
			return fmt.Errorf("%w, before %q: %w", ErrInterrupted, s.Name, ctx.Err())
		}

		if err := c.step(ctx, i); err != nil {
			// A patient step only waits and reads, so it is safe to leave and repeat.
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
		ctx = context.WithoutCancel(ctx) // stop only at safe points
	}

	fail := func(stage string, err error) error {
		return &StepError{Step: s.Name, Stage: stage, Engine: c.standing(i), With: c.With, Err: err}
	}
	c.say(s.Name)

	// The precondition describes the situation before the step. A step that was begun may already
	// have changed it.
	if is.Phase == "" {
		if err := call(ctx, s.Require); err != nil {
			return fail("precondition", err)
		}
	}

	// Save the phase before acting: if the process dies in Do, the state shows the next run that the step may
	// have changed something.
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

		// Ignore cancellation: an engine that the undo stops must run again before this returns.
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

// Finish removes what was kept for an undo.
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

// enter saves that a step is in a phase, before anything else happens.
func (c *Course) enter(is *State, p Phase) error {
	if is.Phase == p {
		return nil
	}
	// Restore the phase if saving fails, so that memory and disk agree.
	was := *is
	is.Phase, is.At = p, time.Now().UTC()
	if err := c.Save(); err != nil {
		*is = was
		return err
	}
	c.at(string(p) + " " + is.Name)
	return nil
}
