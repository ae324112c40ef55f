package pods

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/record/cluster"
)

// Options are what a rollout takes besides its plan.
type Options struct {
	Engines emit.Engines
	// Container and Claims name what cannot be recognised, as for emit.
	Container string
	Claims    map[string]string
	// Say reports what happens now; nil reports nothing.
	Say func(text string)
	// At is called at every point at which a test may end the process; nil in earnest.
	At func(point string)
	// Patience is how long a pod may take to be ready, or a claim to change. 0: 30 minutes.
	Patience time.Duration
	// Every is how often the cluster is looked at meanwhile. 0: every second.
	Every time.Duration
	// Recorder records before and after, and compares; nil records nothing, nor does a new rollout
	// without Sources. Their addresses have no secrets, since the state is in a ConfigMap.
	Recorder  *steps.Recorder
	Sources   []string
	Dir       string // for the recordings, on this machine
	RecordFor time.Duration
}

// A Rollout is the steps of a plan on one StatefulSet, and where they stand.
type Rollout struct {
	c      *cluster.Client
	at     discover.Address
	opt    Options
	store  *store
	state  *State
	course *steps.Course
}

// Open finds the rollout of a StatefulSet that was begun; nil if there is none.
func Open(ctx context.Context, c *cluster.Client, at discover.Address, opt Options) (*Rollout, error) {
	r := newRollout(c, at, opt)
	var err error
	if r.state, err = r.store.load(ctx); err != nil || r.state == nil {
		return nil, err
	}
	return r, r.build()
}

// New prepares the rollout of a plan. It changes nothing: the server only checks what it would be
// given.
func New(ctx context.Context, c *cluster.Client, at discover.Address, plan *emit.Plan,
	opt Options) (*Rollout, error) {
	r := newRollout(c, at, opt)
	old, err := r.store.load(ctx)
	if err != nil {
		return nil, err
	}

	if old.active() {
		return nil, steps.Inputf("--resume goes on, --undo goes back", "a rollout of %s was begun already (%s)", at,
			old.Direction)
	}

	set, err := discover.Find(ctx, c, at)
	if err != nil {
		return nil, err
	}

	layout, err := plan.Layout(opt.Engines)
	if err != nil {
		return nil, err
	}

	text, err := emit.StatefulSetText(set)
	if err != nil {
		return nil, err
	}

	change, err := layout.InPlace(&emit.Options{StatefulSet: text, StatefulSetFile: at.String(),
		Container: opt.Container, Claims: opt.Claims})
	if err != nil {
		return nil, err
	}

	r.state = &State{Version: stateVersion, Started: time.Now().UTC(), Plan: plan.File,
		Engine: layout.After.Engine.Name(), Direction: Forward, Before: set, Change: change, Left: []emit.Change{}}
	r.state.Before.ManagedFields = nil
	if len(opt.Sources) > 0 {
		if err := steps.Unused(opt.Dir); err != nil {
			return nil, err
		}
		r.state.Recorded = &Recorded{Sources: opt.Sources, Dir: opt.Dir, For: opt.RecordFor.String()}
	}

	for _, ch := range layout.Changes() {
		if !slices.ContainsFunc(change.Paths,
			func(p string) bool { return ch.Path == p || strings.HasPrefix(ch.Path, p+".") }) {
			r.state.Left = append(r.state.Left, ch)
		}
	}

	if len(change.Paths) == 0 {
		return nil,
			steps.Inputf(
				"plimsoll emit writes the files of the other changes", "the plan has nothing that a rollout makes in Kubernetes")
	}

	if r.state.Had, err = r.attributes(ctx); err != nil {
		return nil, err
	}

	r.label(change)
	for _, s := range []**appsv1.StatefulSet{&change.After, &change.Back} {
		if *s == nil {
			continue
		}
		if *s, err = r.asServer(ctx, *s); err != nil {
			return nil, fmt.Errorf("the cluster would not take the changed StatefulSet: %w", err)
		}
	}

	return r, r.build()
}

func newRollout(c *cluster.Client, at discover.Address, opt Options) *Rollout {
	const patience, every = 30 * time.Minute, time.Second
	if opt.Patience == 0 {
		opt.Patience = patience
	}
	if opt.Every == 0 {
		opt.Every = every
	}
	return &Rollout{c: c, at: at, opt: opt, store: &store{c: c, at: at}}
}

// attributes are the classes that the claims to change have now.
func (r *Rollout) attributes(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for k := range r.state.Change.Claims {
		ch := &r.state.Change.Claims[k]
		for i := range discover.Replicas(r.state.Before) {
			if ch.Attributes == nil || !concerns(ch, i) {
				continue
			}
			name := r.claimOf(ch.Template, i)
			claim, err := cluster.Claims.Get(ctx, r.c, r.at.Namespace, name)
			if err != nil && !cluster.IsMissing(err) {
				return nil, err
			}
			if err == nil && claim.Spec.VolumeAttributesClassName != nil {
				out[name] = *claim.Spec.VolumeAttributesClassName
			}
		}
	}

	return out, nil
}

// concerns reports whether a change is of a member's claim.
func concerns(ch *emit.ClaimChange, member int) bool { return ch.Member == 0 || ch.Member == member+1 }

// claimOf is the name of a member's claim.
func (r *Rollout) claimOf(template string, member int) string {
	return discover.ClaimName(template, r.state.Before, discover.Start(r.state.Before)+member)
}

// label marks the claims that the rollout makes.
func (r *Rollout) label(change *emit.ClusterChange) {
	for _, s := range []*appsv1.StatefulSet{change.After, change.Back} {
		if s == nil || change.Log == "" {
			continue
		}
		for i := range s.Spec.VolumeClaimTemplates {
			if t := &s.Spec.VolumeClaimTemplates[i]; t.Name == change.Log {
				t.Labels = map[string]string{madeFor: r.at.Name}
			}
		}
	}
}

// asServer returns a set with the server's defaults, which checks it as well. Its own name is taken,
// so another one is used; nothing is made.
func (r *Rollout) asServer(ctx context.Context, set *appsv1.StatefulSet) (*appsv1.StatefulSet, error) {
	try := &appsv1.StatefulSet{ObjectMeta: carried(set), Spec: *set.Spec.DeepCopy()}
	try.Name += "-plimsoll"
	out, err := cluster.StatefulSets.Create(ctx, r.c, r.at.Namespace, try, true)
	if err != nil {
		return nil, err
	}
	return &appsv1.StatefulSet{ObjectMeta: carried(set), Spec: out.Spec}, nil
}

// carried is what of a set's metadata a new set of its name gets.
func carried(set *appsv1.StatefulSet) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: set.Name, Namespace: set.Namespace, Labels: set.Labels,
		Annotations: set.Annotations, OwnerReferences: set.OwnerReferences, Finalizers: set.Finalizers}
}

// build makes the steps from the state.
func (r *Rollout) build() error {
	r.course = &steps.Course{Say: r.opt.Say, At: r.opt.At, With: " --on " + r.at.String(),
		Save: func() error { return r.store.save(context.Background(), r.state) }}
	rec := r.recordings()
	r.course.Steps = append(r.course.Steps, r.check())

	if rec != nil {
		r.course.Steps = append(r.course.Steps, rec.Before())
	}

	r.course.Steps = append(r.course.Steps, r.classes())
	n := discover.Replicas(r.state.Before)
	for i := range n {
		for k := range r.state.Change.Claims {
			if ch := &r.state.Change.Claims[k]; concerns(ch, i) {
				r.course.Steps = append(r.course.Steps, r.claim(ch, i))
			}
		}
	}

	if r.state.Change.After != nil {
		r.course.Steps = append(r.course.Steps, r.replace())
		for i := range n {
			r.course.Steps = append(r.course.Steps, r.renew(i))
		}
		r.course.Steps = append(r.course.Steps, r.strategy())
	}

	if rec != nil {
		r.course.Steps = append(r.course.Steps, rec.After(), rec.Compare())
	}

	err := r.course.Begin(r.state.Steps)
	r.state.Steps = r.course.Stand
	return err
}

// recordings are those of before and after; nil if none are made.
func (r *Rollout) recordings() *steps.Recordings {
	is := r.state.Recorded
	if is == nil {
		return nil
	}

	out := &steps.Recordings{
		Dir: is.Dir, Sources: is.Sources, Of: strings.Join(is.Sources, ", "), Keeps: "the old log",
		Say: r.course.Say,
		Grew: func(long time.Duration) error {
			is.For = long.String()
			return r.course.Save()
		},
		Proved: func(p steps.Proof) error {
			r.state.Proof, r.state.ProofText = p.Verdict, p.Text
			return r.course.Save()
		},
	}

	if r.opt.Recorder != nil {
		out.Recorder = *r.opt.Recorder
	}

	out.Long, _ = time.ParseDuration(is.For) // it was written by String
	return out
}

// Run does what is left of the rollout in its direction.
func (r *Rollout) Run(ctx context.Context) error {
	switch r.state.Direction {
	case Forward:
		if err := r.course.Save(); err != nil {
			return err
		}
		return r.course.Forward(ctx)
	case Undoing:
		return r.back(ctx)
	}
	return nil
}

func (r *Rollout) back(ctx context.Context) error {
	r.state.Direction = Undoing
	if err := r.course.Save(); err != nil {
		return err
	}
	if err := r.course.Back(ctx); err != nil {
		return err
	}
	r.state.Direction = Undone
	return r.course.Save()
}

// Undo goes back to where it began. Volumes that grew stay larger, and claims that were made stay.
func (r *Rollout) Undo(ctx context.Context) error {
	switch r.state.Direction {
	case Finished:
		return steps.Inputf("a new rollout can change it again", "the rollout is finished")
	case Undone:
		return nil
	}
	return r.back(ctx)
}

// Finish ends the rollout: another one may begin. It removes nothing.
func (r *Rollout) Finish() error {
	if r.state.Direction == Finished {
		return nil
	}
	if r.state.Direction == Undone {
		return steps.Inputf("a new one may begin", "the rollout was undone: there is nothing to finish")
	}
	if r.state.Direction != Forward || !r.course.IsDone() {
		return steps.Inputf("--resume goes on, --undo goes back", "the rollout is not done")
	}
	r.state.Direction = Finished
	return r.course.Save()
}

// Steps returns the steps in order, and how far each has come.
func (r *Rollout) Steps() ([]steps.Step, []steps.State) { return r.course.Steps, r.course.Stand }

// State returns where it stands.
func (r *Rollout) State() *State { return r.state }

// Done reports whether every step is.
func (r *Rollout) Done() bool { return r.course.IsDone() }

// Begun reports whether any step was.
func (r *Rollout) Begun() bool { return steps.HasBegun(r.state.Steps) }

// Where is the StatefulSet's address.
func (r *Rollout) Where() string { return r.at.String() }

func (r *Rollout) point(text string) {
	if r.opt.At != nil {
		r.opt.At(text)
	}
}

// pod is the name of the member's pod.
func (r *Rollout) pod(member int) string {
	return fmt.Sprintf("%s-%d", r.at.Name, discover.Start(r.state.Before)+member)
}
