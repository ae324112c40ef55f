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
	"plimsoll/internal/record/kubeclient"
)

// Options configure a rollout, in addition to its plan.
type Options struct {
	Engines emit.Engines
	// Container and Claims name what cannot be detected, as for emit.
	Container string
	Claims    map[string]string
	// Say reports progress; nil: none.
	Say func(text string)
	// At is called at every point where a test may kill the process; nil outside tests.
	At func(point string)
	// Patience is how long a pod may take to become ready, or a claim to change. 0: 30 minutes.
	Patience time.Duration
	// Every is the polling interval while waiting. 0: one second.
	Every time.Duration
	// Recorder records before and after the change and compares; nil: no recordings. A new rollout also
	// makes none without Sources. Their addresses must not contain secrets, because the state is stored
	// in a ConfigMap.
	Recorder  *steps.Recorder
	Sources   []string
	Dir       string // for the recordings, on this machine
	RecordFor time.Duration
}

// A Rollout is the steps of a plan on one StatefulSet, with their progress.
type Rollout struct {
	c      *kubeclient.Client
	at     discover.Address
	opt    Options
	store  *store
	state  *State
	course *steps.Course
}

// Open finds a StatefulSet's rollout that has begun; it returns nil if there is none.
func Open(ctx context.Context, c *kubeclient.Client, at discover.Address, opt Options) (*Rollout, error) {
	r := newRollout(c, at, opt)
	var err error
	if r.state, err = r.store.load(ctx); err != nil || r.state == nil {
		return nil, err
	}
	return r, r.build()
}

// New prepares the rollout of a plan. It changes nothing: the server only validates the new StatefulSet.
func New(ctx context.Context, c *kubeclient.Client, at discover.Address, plan *emit.Request,
	opt Options) (*Rollout, error) {
	rolling := newRollout(c, at, opt)
	old, err := rolling.store.load(ctx)
	if err != nil {
		return nil, err
	}

	if old.active() {
		return nil, steps.Inputf("--resume continues it, --undo undoes it",
			"a rollout of %s has already begun (%s)", at,
			old.Direction)
	}

	set, err := discover.Find(ctx, c, at)
	if err != nil {
		return nil, err
	}

	layout, err := plan.Transition(opt.Engines)
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

	rolling.state = &State{Version: stateVersion, Started: time.Now().UTC(), Plan: plan.File,
		Engine: layout.After.Engine.Name(), Direction: steps.GoesForward, Before: set, Change: change,
		Left: []emit.Change{}}
	rolling.state.Before.ManagedFields = nil
	if len(opt.Sources) > 0 {
		// Recordings of an earlier rollout in that folder must survive.
		if err := steps.Unused(opt.Dir); err != nil {
			return nil, err
		}
		rolling.state.Recorded = &Recorded{Sources: opt.Sources, Dir: opt.Dir, For: opt.RecordFor.String()}
	}

	for _, ch := range layout.Changes() {
		if !slices.ContainsFunc(change.Paths,
			func(p string) bool { return ch.Path == p || strings.HasPrefix(ch.Path, p+".") }) {
			rolling.state.Left = append(rolling.state.Left, ch)
		}
	}

	if len(change.Paths) == 0 {
		return nil,
			steps.Inputf(
				"use plimsoll emit to write the files for the other changes", "the plan has no change that a rollout can make in Kubernetes")
	}

	if rolling.state.Had, err = rolling.attributes(ctx); err != nil {
		return nil, err
	}

	rolling.label(change)

	// Later comparisons are with what the server returns, so store the sets with its defaults.
	for _, s := range []**appsv1.StatefulSet{&change.After, &change.Back} {
		if *s == nil {
			continue
		}
		if *s, err = rolling.asServer(ctx, *s); err != nil {
			return nil, fmt.Errorf("the cluster rejects the changed StatefulSet: %w", err)
		}
	}

	return rolling, rolling.build()
}

func newRollout(c *kubeclient.Client, at discover.Address, opt Options) *Rollout {
	const patience, every = 30 * time.Minute, time.Second
	if opt.Patience == 0 {
		opt.Patience = patience
	}
	if opt.Every == 0 {
		opt.Every = every
	}
	return &Rollout{c: c, at: at, opt: opt, store: &store{c: c, at: at}}
}

// attributes returns the current classes of the claims that will change.
func (r *Rollout) attributes(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for k := range r.state.Change.Claims {
		ch := &r.state.Change.Claims[k]
		for i := range emit.Replicas(r.state.Before) {
			if ch.Attributes == nil || !concerns(ch, i) {
				continue
			}
			name := r.claimOf(ch.Template, i)
			claim, err := kubeclient.Claims.Get(ctx, r.c, r.at.Namespace, name)
			if err != nil && !kubeclient.IsMissing(err) {
				return nil, err
			}
			if err == nil && claim.Spec.VolumeAttributesClassName != nil {
				out[name] = *claim.Spec.VolumeAttributesClassName
			}
		}
	}

	return out, nil
}

// concerns reports whether a change applies to a member's claim.
func concerns(ch *emit.ClaimChange, member int) bool { return ch.Member == 0 || ch.Member == member+1 }

// claimOf returns the name of a member's claim.
func (r *Rollout) claimOf(template string, member int) string {
	return discover.ClaimName(template, r.state.Before, emit.FirstOrdinal(r.state.Before)+member)
}

// label marks the claims that the rollout creates.
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

// asServer validates a set with a dry run and returns it with the server's defaults, so that it can be
// compared with what the server returns later. The set's own name is in use, so the dry run uses another.
func (r *Rollout) asServer(ctx context.Context, set *appsv1.StatefulSet) (*appsv1.StatefulSet, error) {
	try := &appsv1.StatefulSet{ObjectMeta: carried(set), Spec: *set.Spec.DeepCopy()}
	try.Name += "-plimsoll"
	out, err := kubeclient.StatefulSets.Create(ctx, r.c, r.at.Namespace, try, true)
	if err != nil {
		return nil, err
	}
	return &appsv1.StatefulSet{ObjectMeta: carried(set), Spec: out.Spec}, nil
}

// carried returns the part of a set's metadata that carries over to the recreated set.
func carried(set *appsv1.StatefulSet) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: set.Name, Namespace: set.Namespace, Labels: set.Labels,
		Annotations: set.Annotations, OwnerReferences: set.OwnerReferences, Finalizers: set.Finalizers}
}

// build creates the steps from the state.
func (r *Rollout) build() error {
	r.course = &steps.Course{Direction: &r.state.Direction, Say: r.opt.Say, At: r.opt.At,
		With: " --on " + r.at.String(),
		Save: func() error { return r.store.save(context.Background(), r.state) }}
	rec := r.recordings()
	r.course.Steps = append(r.course.Steps, r.check())

	if rec != nil {
		r.course.Steps = append(r.course.Steps, rec.Before())
	}

	r.course.Steps = append(r.course.Steps, r.classes())
	n := emit.Replicas(r.state.Before)
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
			// In ascending order: see the package doc.
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

// recordings returns the steps that record before and after; nil if the rollout does not record.
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

	out.Long, _ = time.ParseDuration(is.For) // written by Duration.String
	return out
}

// Run completes the rollout in its direction.
func (r *Rollout) Run(ctx context.Context) error { return r.course.Run(ctx) }

// Undo restores the deployment to how it was before the rollout, except that volumes stay larger and new
// claims remain.
func (r *Rollout) Undo(ctx context.Context) error {
	switch r.state.Direction {
	case steps.IsFinished:
		return steps.Inputf("start a new rollout to change it again", "the rollout is finished")
	case steps.IsUndone:
		return nil
	}
	r.state.Direction = steps.GoesBack
	return r.Run(ctx)
}

// Finish ends the rollout, so that another one may begin. It removes nothing.
func (r *Rollout) Finish() error {
	if r.state.Direction == steps.IsFinished {
		return nil
	}
	if r.state.Direction == steps.IsUndone {
		return steps.Inputf("start a new one", "the rollout was undone: there is nothing to finish")
	}
	if r.state.Direction != steps.GoesForward || !r.course.IsDone() {
		return steps.Inputf("--resume continues it, --undo undoes it", "the rollout is not done yet")
	}
	r.state.Direction = steps.IsFinished
	return r.course.Save()
}

// Done reports whether every step is done.
func (r *Rollout) Done() bool { return r.course.IsDone() }

// Begun reports whether any step was begun.
func (r *Rollout) Begun() bool { return steps.HasBegun(r.state.Steps) }

func (r *Rollout) point(text string) {
	if r.opt.At != nil {
		r.opt.At(text)
	}
}

// pod returns the name of a member's pod.
func (r *Rollout) pod(member int) string {
	return fmt.Sprintf("%s-%d", r.at.Name, emit.FirstOrdinal(r.state.Before)+member)
}
