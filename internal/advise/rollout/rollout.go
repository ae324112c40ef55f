//go:build linux

package rollout

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/record/address"
)

// Options are what a rollout takes besides its plan and site.
type Options struct {
	// Say reports what happens now; nil reports nothing.
	Say func(text string)
	// Recorder records before and after, and compares; nil records nothing.
	Recorder *steps.Recorder
	// With are the arguments that every command for this rollout takes: " --dir move".
	With string
	// At is called at every point at which a test may end the process; nil in earnest.
	At func(point string)

	// Replaced by tests of the steps' order alone.
	command func(ctx context.Context, command string) error
	holders func(dirs ...string) ([]string, error)
}

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
	rec     *steps.Recordings // nil: it does not record
}

// New prepares a rollout from its state: a new one, or one that was begun. It changes nothing. The
// error is an *[InputError], an *[engine.LackError] or of the plan's or site's text.
func New(of Engines, folder *Folder, state *State, opt Options) (*Rollout, error) {
	r := &Rollout{state: state, folder: folder, opt: opt}
	plan, err := emit.ReadPlan(state.PlanFile, []byte(state.Plan))
	if err != nil {
		return nil, err
	}

	layout, err := plan.Layout(of.Engines)
	if err != nil {
		return nil, err
	}

	r.Engine = layout.After.Engine.Name()
	e, err := engine.Find(of.Procedures, r.Engine, "be rolled out")
	if err != nil {
		return nil, err
	}

	r.proc, r.Log = e.Part, e.Log()
	if r.site, err = ParseSite(state.SiteFile, []byte(state.Site)); err != nil {
		return nil, err
	}

	long, err := time.ParseDuration(state.RecordFor)
	if err != nil || long < 0 {
		return nil, steps.Inputf("for example 10m", "%q is not a length of a recording", state.RecordFor)
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
		if path, ok := strings.CutPrefix(c.Path, "volumes."); ok && found &&
			(path == r.Log || strings.HasSuffix(path, "."+r.Log)) {
			continue
		}
		r.Left = append(r.Left, c)
	}

	if !found {
		return steps.Inputf("plimsoll emit writes the files of the other changes",
			"the plan has nothing for a rollout on this machine: it moves the log to a volume of its own (volumes.%s), and the plan changes %s",
			r.Log, paths(r.Left))
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
	return &steps.Course{Steps: r.steps, Stand: r.state.Steps, Save: r.save, Say: r.say, At: r.at,
		With: r.opt.With}
}

// build makes the steps of all members, one member after the other.
func (r *Rollout) build(long time.Duration) {
	for _, m := range r.members {
		r.steps = append(r.steps, m.prepare())
	}

	if long > 0 && r.opt.Recorder != nil {
		r.rec = r.recordings(long)
		r.steps = append(r.steps, r.rec.Before())
	}

	for _, m := range r.members {
		r.steps = append(r.steps, m.stop(), m.copy(), m.swap())
		if m.Config != "" {
			r.steps = append(r.steps, m.configure())
		}
		r.steps = append(r.steps, m.start())
	}

	if r.rec != nil {
		r.steps = append(r.steps, r.rec.After(), r.rec.Compare())
	}
}

// recordings are those of before and after, of the site's sources or of its members and this host.
func (r *Rollout) recordings(long time.Duration) *steps.Recordings {
	sources := slices.Clone(r.site.Record)
	of := strings.Join(sources, ", ")
	if len(sources) == 0 {
		var names []string
		for _, m := range r.members {
			if m.Address != "" {
				sources, names = append(sources, m.Address), append(names, m.Name)
			}
		}
		sources, of = append(sources, "host"), strings.Join(append(names, "this host"), ", ")
	}

	return &steps.Recordings{
		Recorder: *r.opt.Recorder, Dir: r.folder.Path(), Sources: sources,
		Of: address.OfArguments(sources).Hide(of), Keeps: "the old log", Long: long, Say: r.say,
		Grew: func(long time.Duration) error {
			r.state.RecordFor = long.String()
			return r.save()
		},
		Proved: func(p steps.Proof) error {
			r.state.Proof, r.state.ProofText = p.Verdict, p.Text
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
		return steps.Inputf(
			"a new rollout can move the log again", "the rollout is finished: what it takes to go back was removed")
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
		return steps.Inputf("", "the rollout was undone: there is nothing to finish")
	case !r.Done():
		return steps.Inputf("plimsoll rollout --resume", "the rollout is not done yet")
	case r.state.Proof != steps.Better && !force && r.state.Direction == Forward:
		proof := r.state.Proof
		if proof == "" {
			proof = "not recorded"
		}
		return steps.Inputf("look at plimsoll prove of recordings from before and after; --force removes the old log anyway",
			"the old log is kept until the recordings prove better (they are: %s)", proof)
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
			return nil, steps.Inputf("data: is the engine's data folder, and this user may read it",
				"%s: there is no log at %s: %v", m.Name, m.move.log, err)
		}

		all = append(all, f)
		err = m.allowed()
		if flock(f) != nil && err == nil {
			err = steps.Failf("wait until it ends", "%s: another rollout works on %s", m.Name, m.Data)
		}

		if volume, e := os.Open(m.mount); e == nil { // if it is not mounted, the steps say so
			if all = append(all, volume); flock(volume) != nil && err == nil {
				err = steps.Failf("wait until it ends", "%s: another rollout works on %s", m.Name, m.mount)
			}
		}

		if err != nil {
			free()
			return nil, err
		}
	}

	return free, nil
}

// Problems are what keeps a rollout from beginning, as far as it can be seen without changing
// anything.
func (r *Rollout) Problems(ctx context.Context) []string {
	var out []string
	for _, m := range r.members {
		for _, err := range []error{m.fits(), m.managed(), m.ready(ctx)} {
			if err == nil {
				continue
			}
			text := err.Error()
			if !strings.HasPrefix(text, m.Name+": ") {
				text = m.Name + ": " + text
			}
			out = append(out, text)
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
	out.Steps = Reported(r.steps, r.state.Steps)
	out.ProofText = r.state.ProofText
	out.Recordings = Folders(r.rec)
	return out
}

// Begun reports whether any step was begun.
func (r *Rollout) Begun() bool { return r.state.Begun() }
