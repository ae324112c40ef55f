//go:build linux

package rollout

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/model/engine"
)

// Options are what a rollout takes besides its plan and site.
type Options struct {
	// Say reports what happens now; nil reports nothing.
	Say func(text string)
	// Record records sources into a new folder for a time. It is called before and after.
	Record func(ctx context.Context, dir string, sources []string, long time.Duration) error
	// Prove compares two recordings; its verdict is Better if the second is.
	Prove func(ctx context.Context, before, after string) (verdict, text string, err error)
	// At is called at every point at which a test may end the process; nil in earnest.
	At func(point string)

	// Replaced by tests of the steps' order alone.
	command func(ctx context.Context, command string) error
	holders func(dirs ...string) ([]string, error)
}

// Better is the verdict that lets what was kept be removed.
const Better = "better"

// A Rollout is the steps of a plan on this machine, and where they stand.
type Rollout struct {
	Engine string // its key in scenarios
	Log    string // the volume that the log moves to, as the plan names it
	// Left are the plan's changes that a rollout does not make.
	Left []emit.Change

	steps   []Step
	state   *State
	folder  *Folder
	site    *Site
	proc    Procedure
	opt     Options
	members []*member
}

// New prepares a rollout from its state: a new one, or one that was begun. It changes nothing. The
// error is an *[InputError], an *[engine.LackError] or of the plan's or site's text.
func New(all []engine.Engine, folder *Folder, state *State, opt Options) (*Rollout, error) {
	r := &Rollout{state: state, folder: folder, opt: opt}
	plan, err := emit.ReadPlan(state.PlanFile, []byte(state.Plan))
	if err != nil {
		return nil, err
	}
	layout, err := plan.Layout(all)
	if err != nil {
		return nil, err
	}
	r.Engine = layout.After.Engine.Name()
	e, err := engine.Facet[Engine](all, r.Engine, "be rolled out")
	if err != nil {
		return nil, err
	}
	r.proc, r.Log = e.Rollout(), e.Traits().Log()
	if r.site, err = ParseSite(state.SiteFile, []byte(state.Site)); err != nil {
		return nil, err
	}
	long, err := time.ParseDuration(state.RecordFor)
	if err != nil || long < 0 {
		return nil, inputf("for example 10m", "%q is not a length of a recording", state.RecordFor)
	}
	if err := r.choose(layout); err != nil {
		return nil, err
	}
	for i := range r.site.Members {
		m, err := r.newMember(&r.site.Members[i])
		if err != nil {
			return nil, err
		}
		r.members = append(r.members, m)
	}
	r.build(long)
	return r, r.adopt()
}

// choose finds the change that a rollout makes, and lists the others.
func (r *Rollout) choose(l *emit.Layout) error {
	found := false
	for _, v := range l.NewVolumes() {
		found = found || v.Volume == r.Log
	}
	for _, c := range l.Changes() {
		if path, ok := strings.CutPrefix(c.Path, "volumes."); ok && found && (path == r.Log || strings.HasSuffix(path, "."+r.Log)) {
			continue
		}
		r.Left = append(r.Left, c)
	}
	if !found {
		return inputf("plimsoll emit writes the files of the other changes", "the plan has nothing for a rollout on this machine: it moves the log to a volume of its own (volumes.%s), and the plan changes %s", r.Log, paths(r.Left))
	}
	return nil
}

func paths(changes []emit.Change) string {
	if len(changes) == 0 {
		return "nothing"
	}
	var out []string
	for _, c := range changes {
		out = append(out, c.Path)
	}
	return strings.Join(out, ", ")
}

// adopt joins the steps with the state's.
func (r *Rollout) adopt() error {
	c := &steps.Course{Steps: r.steps}
	err := c.Begin(r.state.Steps)
	if err == nil {
		r.state.Steps = c.Stand
	}
	return err
}

// course is the steps with where they stand.
func (r *Rollout) course() *steps.Course {
	return &steps.Course{Steps: r.steps, Stand: r.state.Steps, Save: r.save, Say: r.say, At: r.at}
}

// build makes the steps of all members, one member after the other.
func (r *Rollout) build(long time.Duration) {
	for _, m := range r.members {
		r.steps = append(r.steps, m.prepare())
	}
	if long > 0 && r.opt.Record != nil {
		r.steps = append(r.steps, r.recording("before", long))
	}
	for _, m := range r.members {
		r.steps = append(r.steps, m.stop(), m.copy(), m.swap())
		if m.Config != "" {
			r.steps = append(r.steps, m.configure())
		}
		r.steps = append(r.steps, m.start())
	}
	if long > 0 && r.opt.Record != nil {
		r.steps = append(r.steps, r.recording("after", long), r.proof())
	}
}

// Recordings returns the folders of the recordings before and after.
func (r *Rollout) Recordings() (before, after string) {
	return r.folder.Path("before"), r.folder.Path("after")
}

func (r *Rollout) recording(when string, long time.Duration) Step {
	dir := func() string { return r.folder.Path(when) }
	sources := slices.Clone(r.site.Record)
	if len(sources) == 0 {
		for _, m := range r.members {
			if m.Address != "" {
				sources = append(sources, m.Address)
			}
		}
		sources = append(sources, "host")
	}
	return Step{
		Name: "record " + when, Patient: true,
		What: fmt.Sprintf("records this host and %d members for %s, to compare before and after", len(r.members), long),
		Do: func(ctx context.Context) error {
			if err := os.RemoveAll(dir()); err != nil {
				return err
			}
			return r.opt.Record(ctx, dir(), sources, long)
		},
	}
}

func (r *Rollout) proof() Step {
	return Step{
		Name: "prove", Patient: true,
		What: "compares the two recordings; the old log is kept, whatever it says",
		Do: func(ctx context.Context) error {
			before, after := r.Recordings()
			verdict, text, err := r.opt.Prove(ctx, before, after)
			if err != nil {
				verdict, text = "not compared", err.Error()
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.state.Proof = verdict
			r.say("prove: " + text)
			return r.save()
		},
	}
}

// Steps returns the steps in order.
func (r *Rollout) Steps() []Step { return r.steps }

// State returns where it stands.
func (r *Rollout) State() *State { return r.state }

// Run does what is left of the rollout in its direction. It takes every member for itself, so that
// no other rollout works on one.
func (r *Rollout) Run(ctx context.Context) error {
	free, err := r.take()
	if err != nil {
		return err
	}
	defer free()
	if err := r.save(); err != nil {
		return err
	}
	switch r.state.Direction {
	case Undoing:
		if err := r.course().Back(ctx); err != nil {
			return err
		}
		return r.turn(Undone)
	case Finishing:
		if err := r.course().Finish(ctx); err != nil {
			return err
		}
		return r.turn(Finished)
	case Forward:
		return r.course().Forward(ctx)
	}
	return nil
}

// Undo goes back to where it began.
func (r *Rollout) Undo(ctx context.Context) error {
	switch r.state.Direction {
	case Finishing, Finished:
		return inputf("a new rollout can move the log again", "the rollout is finished: what it takes to go back was removed")
	case Undone:
		return nil
	}
	r.state.Direction = Undoing
	return r.Run(ctx)
}

// Finish removes what was kept, if the recordings proved better or force is set.
func (r *Rollout) Finish(ctx context.Context, force bool) error {
	switch {
	case r.state.Direction == Finished:
		return nil
	case r.state.Direction != Forward && r.state.Direction != Finishing:
		return inputf("", "the rollout was undone: there is nothing to finish")
	case !r.Done():
		return inputf("plimsoll rollout --resume", "the rollout is not done yet")
	case r.state.Proof != Better && !force && r.state.Direction == Forward:
		proof := r.state.Proof
		if proof == "" {
			proof = "not recorded"
		}
		return inputf("plimsoll prove compares longer recordings; --force removes the old log anyway", "the old log is kept until the recordings prove better (they are: %s)", proof)
	}
	r.state.Direction = Finishing
	return r.Run(ctx)
}

// Done reports whether every step is done.
func (r *Rollout) Done() bool { return r.course().IsDone() }

func (r *Rollout) turn(to string) error {
	r.state.Direction = to
	return r.save()
}

func (r *Rollout) save() error { return r.folder.save(r.state) }

func (r *Rollout) say(text string) {
	if r.opt.Say != nil {
		r.opt.Say(text)
	}
}

func (r *Rollout) at(point string) {
	if r.opt.At != nil {
		r.opt.At(point)
	}
}

// take locks every member's data folder; the kernel frees them if the process dies.
func (r *Rollout) take() (free func(), err error) {
	var all []*os.File
	free = func() {
		for _, f := range all {
			_ = f.Close() // it was only locked
		}
	}
	for _, m := range r.members {
		f, err := os.Open(m.Data)
		if err != nil {
			free()
			return nil, inputf("data: is the engine's data folder, and this user may read it", "%s: there is no log at %s: %v", m.Name, m.move.log, err)
		}
		all = append(all, f)
		if err := flock(f); err != nil {
			free()
			return nil, fmt.Errorf("%s: another rollout works on %s: %w", m.Name, m.Data, err)
		}
	}
	return free, nil
}

// Problems are what keeps a rollout from beginning, as far as it can be seen without changing
// anything.
func (r *Rollout) Problems(ctx context.Context) []string {
	var out []string
	for _, m := range r.members {
		for _, err := range []error{m.fits(), m.ready(ctx)} {
			if err != nil {
				out = append(out, err.Error())
			}
		}
	}
	return out
}

// Report describes the rollout.
func (r *Rollout) Report() *Report {
	out := &Report{
		Version: 1, Engine: r.Engine, Dir: r.folder.Path(), Direction: r.state.Direction, Done: r.Done(),
		Left: append([]emit.Change{}, r.Left...), Problems: []string{}, Proof: r.state.Proof,
	}
	for i, s := range r.steps {
		is := r.state.Steps[i]
		step := ReportedStep{
			Name: s.Name, Member: s.Member, Action: s.What, Precondition: s.Needs, Check: s.Checks, Undo: s.Undoes,
			Down: s.Down, Phase: string(is.Phase),
		}
		if is.Phase != "" {
			step.At = &is.At
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

// Begun reports whether any step was begun.
func (r *Rollout) Begun() bool { return r.state.Begun() }
