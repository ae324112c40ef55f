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
	"plimsoll/internal/model/database"
	"plimsoll/internal/record/address"
)

// Options configure a rollout, in addition to its plan and site.
type Options struct {
	// Say reports progress; nil: none.
	Say func(text string)
	// Recorder records before and after the change and compares; nil: no recordings.
	Recorder *steps.Recorder
	// With are the arguments that every command for this rollout needs, for hints: " --out move".
	With string
	// At is called at every point where a test may kill the process; nil outside tests.
	At func(point string)

	// Tests that only check the order of the steps replace these.
	command func(ctx context.Context, command string) error
	holders func(dirs ...string) ([]string, error)
}

// A Rollout is the steps of a plan on this machine, with their progress.
type Rollout struct {
	Engine string // its key in scenarios
	Log    string // the volume that the log moves to, by its name in the plan
	// Left are the plan's changes that the rollout does not make.
	Left []emit.Change

	steps   []Step
	state   *State
	folder  *Folder
	site    *Site
	proc    Procedure
	opt     Options
	members []*member
	rec     *steps.Recordings // nil: no recordings
}

// New prepares a rollout from its state, whether new or already begun. It changes nothing. The error is
// an *[steps.InputError], an *[database.LackError], or an error in the text of the plan or the site.
func New(of Engines, folder *Folder, state *State, opt Options) (*Rollout, error) {
	rolling := &Rollout{state: state, folder: folder, opt: opt}
	plan, err := emit.ReadPlan(state.PlanFile, []byte(state.Plan))
	if err != nil {
		return nil, err
	}

	layout, err := plan.Transition(of.Engines)
	if err != nil {
		return nil, err
	}

	rolling.Engine = layout.After.Engine.Name()
	e, err := database.Find(of.Procedures, rolling.Engine, "be rolled out")
	if err != nil {
		return nil, err
	}

	rolling.proc, rolling.Log = e.Part, e.Log()
	if rolling.site, err = ParseSite(state.SiteFile, []byte(state.Site)); err != nil {
		return nil, err
	}

	long, err := time.ParseDuration(state.RecordFor)
	if err != nil || long < 0 {
		return nil, steps.Inputf("for example 10m", "invalid length of a recording: %q", state.RecordFor)
	}

	if err := rolling.choose(layout); err != nil {
		return nil, err
	}

	for i := range rolling.site.Members {
		// Fail for every member's configuration before any step exists, so that a dry run reports
		// it.
		m, err := rolling.newMember(&rolling.site.Members[i])
		if err != nil {
			return nil, err
		}
		rolling.members = append(rolling.members, m)
	}

	rolling.build(long)
	return rolling, rolling.adopt()
}

// choose finds the change that the rollout makes, and lists the others.
func (r *Rollout) choose(l *emit.Transition) error {
	found := false
	for _, v := range l.NewVolumes() {
		found = found || v.Volume == r.Log
	}

	for _, c := range l.Changes() {
		// Everything at or below the log's volume belongs to the move, including a single member's
		// volume.
		if path, ok := strings.CutPrefix(c.Path, "volumes."); ok && found &&
			(path == r.Log || strings.HasSuffix(path, "."+r.Log)) {
			continue
		}
		r.Left = append(r.Left, c)
	}

	if !found {
		return steps.Inputf("use plimsoll emit to write the files for the other changes",
			"the plan has no change for a rollout on this machine: a rollout moves the log to a separate volume (volumes.%s), but the plan changes %s",
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

// adopt matches the steps with the progress in the state.
func (r *Rollout) adopt() error {
	c := &steps.Course{Steps: r.steps}
	err := c.Begin(r.state.Steps)
	if err == nil {
		r.state.Steps = c.Stand
	}
	return err
}

// course returns the steps with their progress.
func (r *Rollout) course() *steps.Course {
	return &steps.Course{Steps: r.steps, Stand: r.state.Steps, Direction: &r.state.Direction, Save: r.save,
		Say: r.say, At: r.at, With: r.opt.With}
}

// build creates the steps of all members, one member after the other, so that at most one member is
// down at a time.
func (r *Rollout) build(long time.Duration) {
	// All checks come before the first member stops: a problem with the last member must not show
	// up halfway through.
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

// recordings returns the steps that record before and after. The sources are the site's, or otherwise
// its members and this host.
func (r *Rollout) recordings(long time.Duration) *steps.Recordings {
	sources := slices.Clone(r.site.Record)
	of := strings.Join(sources, ", ")

	// The host is always recorded, because the device's figures prove the effect of a move.
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

// Run completes the rollout in its direction. It locks every member, so that no other rollout works on
// one.
func (r *Rollout) Run(ctx context.Context) error {
	free, err := r.lockMembers()
	if err != nil {
		return err
	}

	defer free()
	return r.course().Run(ctx)
}

// Undo restores the deployment to how it was before the rollout.
func (r *Rollout) Undo(ctx context.Context) error {
	switch r.state.Direction {
	case steps.IsFinishing, steps.IsFinished:
		return steps.Inputf(
			"start a new rollout to move the log again", "the rollout is finished: the files needed to undo it were removed")
	case steps.IsUndone:
		return nil
	}
	r.state.Direction = steps.GoesBack
	return r.Run(ctx)
}

// Finish removes the old logs, if the recordings proved an improvement or force is set.
func (r *Rollout) Finish(ctx context.Context, force bool) error {
	switch {
	case r.state.Direction == steps.IsFinished:
		return nil
	case r.state.Direction != steps.GoesForward && r.state.Direction != steps.IsFinishing:
		return steps.Inputf("", "the rollout was undone: there is nothing to finish")
	case !r.Done():
		return steps.Inputf("run plimsoll rollout --resume", "the rollout is not done yet")
	// A finish that was already confirmed needs no second confirmation when it resumes.
	case r.state.Proof != steps.Better && !force && r.state.Direction == steps.GoesForward:
		proof := r.state.Proof
		if proof == "" {
			proof = "not recorded"
		}
		return steps.Inputf("compare recordings from before and after with plimsoll prove; --force removes the old log anyway",
			"the old log is kept until the recordings prove an improvement (result: %s)", proof)
	}

	r.state.Direction = steps.IsFinishing
	return r.Run(ctx)
}

// Done reports whether every step is done.
func (r *Rollout) Done() bool { return r.course().IsDone() }

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

// lockMembers locks every member's data folder and new volume. These are advisory locks on the folders
// themselves, so they exclude rollouts with other state folders too, and the kernel releases them if
// the process dies.
func (r *Rollout) lockMembers() (free func(), err error) {
	var all []*os.File
	free = func() {
		for _, f := range all {
			_ = f.Close() // used only for its lock
		}
	}

	for _, m := range r.members {
		f, err := os.Open(m.Data)
		if err != nil {
			free()
			return nil, steps.Inputf("data: must be the engine's data folder, and this user must be able to read it",
				"%s: no log at %s: %v", m.Name, m.move.log, err)
		}

		all = append(all, f)
		err = m.allowed()

		// Report a missing permission first: it also explains why other processes are invisible.
		if flock(f) != nil && err == nil {
			err = steps.Failf("wait until it ends", "%s: another rollout is working on %s", m.Name, m.Data)
		}

		if volume, e := os.Open(m.mount); e == nil { // if it is not mounted, the steps report that
			if all = append(all, volume); flock(volume) != nil && err == nil {
				err = steps.Failf("wait until it ends", "%s: another rollout is working on %s", m.Name, m.mount)
			}
		}

		if err != nil {
			free()
			return nil, err
		}
	}

	return free, nil
}

// Problems returns the reasons why the rollout cannot start, if they are visible without
// changing anything.
func (r *Rollout) Problems(ctx context.Context) []string {
	var out []string
	for _, m := range r.members {
		for _, err := range []error{m.fits(), m.managed(), m.ready(ctx)} {
			if err == nil {
				continue
			}
			// Some errors already start with the member's name.
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
