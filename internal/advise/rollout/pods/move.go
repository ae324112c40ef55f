package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/record/cluster"
)

// same reports whether two sets have the same specification, but for how they update.
func same(a, b *appsv1.StatefulSet) bool {
	return a != nil && b != nil && reflect.DeepEqual(specOf(a), specOf(b))
}

func specOf(s *appsv1.StatefulSet) (out map[string]any) {
	spec := s.Spec.DeepCopy()
	spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{}
	text, err := json.Marshal(spec)
	if err != nil || json.Unmarshal(text, &out) != nil {
		return map[string]any{"unreadable": s.UID}
	}
	return out
}

// onDelete is the strategy in which nothing but a deleted pod is made anew.
var onDelete = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}

// put makes the cluster's set one of those that this rollout knows, with a strategy. It looks at what
// is there, so that it can be run again after it was cut off.
func (r *Rollout) put(ctx context.Context, want *appsv1.StatefulSet,
	strategy appsv1.StatefulSetUpdateStrategy) error {
	return r.retry(func() error { return r.putOnce(ctx, want, strategy) })
}

func (r *Rollout) putOnce(ctx context.Context, want *appsv1.StatefulSet,
	strategy appsv1.StatefulSetUpdateStrategy) error {
	live, err := cluster.StatefulSets.Get(ctx, r.c, r.at.Namespace, r.at.Name)
	if err != nil && !cluster.IsMissing(err) {
		return err
	}

	if err == nil && live.DeletionTimestamp == nil {
		switch {
		case same(live, want) && reflect.DeepEqual(live.Spec.UpdateStrategy, strategy):
			return nil
		case !same(live, r.state.Before) && !same(live, r.state.Change.After) && !same(live, r.state.Change.Back):
			return r.changed(live)
		case sameTemplates(live, want):
			next := live.DeepCopy()
			next.Spec.Template, next.Spec.UpdateStrategy = want.Spec.Template, strategy
			if _, err := cluster.StatefulSets.Update(ctx, r.c, r.at.Namespace, r.at.Name, next); err != nil {
				return err
			}
			r.point("updated the set")
			return nil
		}

		if err := cluster.StatefulSets.Delete(ctx, r.c, r.at.Namespace, r.at.Name, live.UID, true); err != nil &&
			!cluster.IsMissing(err) {
			return err
		}

		r.point("deleted the set")
	}

	if err := r.gone(ctx); err != nil {
		return err
	}

	r.point("the set is gone")
	next := &appsv1.StatefulSet{ObjectMeta: carried(want), Spec: *want.Spec.DeepCopy()}
	next.Spec.UpdateStrategy = strategy

	if _, err = cluster.StatefulSets.Create(ctx, r.c, r.at.Namespace, next, false); err != nil {
		return err
	}

	r.point("made the set")
	return nil
}

// changed says that the cluster's set is not what this rollout made.
func (r *Rollout) changed(live *appsv1.StatefulSet) error {
	return steps.Inputf(
		fmt.Sprintf("kubectl get statefulset %s -n %s -o yaml shows it; the rollout goes on or back when it is as before",
			r.at.Name, r.at.Namespace),
		"somebody else changed the StatefulSet %s meanwhile (generation %d)", r.at.Name, live.Generation)
}

// gone waits until a set that is being deleted is: its pods are let go first. It refuses to wait for
// a deletion that takes the pods along.
func (r *Rollout) gone(ctx context.Context) error {
	return cluster.Wait(ctx, r.opt.Every, r.opt.Patience, func(ctx context.Context) (string, error) {
		live, err := cluster.StatefulSets.Get(ctx, r.c, r.at.Namespace, r.at.Name)
		switch {
		case cluster.IsMissing(err):
			return "", nil
		case err != nil:
			return "", err
		case live.DeletionTimestamp == nil:
			return "", fmt.Errorf("somebody else made the StatefulSet %s again meanwhile", r.at.Name)
		case !slices.Contains(live.Finalizers, "orphan"):
			return "", fmt.Errorf("somebody else deletes the StatefulSet %s", r.at.Name)
		}
		return "the StatefulSet is not gone yet: does the cluster's garbage collector run?", nil
	})
}

func sameTemplates(a, b *appsv1.StatefulSet) bool {
	return reflect.DeepEqual(specOf(a)["volumeClaimTemplates"], specOf(b)["volumeClaimTemplates"])
}

// replace puts the changed set in the place of the old one. The pods run on as they are.
func (r *Rollout) replace() steps.Step {
	what := "updates the StatefulSet's template"
	if r.state.Change.Log != "" {
		what = "deletes the StatefulSet without its pods (--cascade=orphan), and makes it again with the claim template " +
			r.state.Change.Log + " and an init container that moves the log"
	}

	return steps.Step{
		Name: "statefulset", What: what +
			". The pods run on as they are; until all are renewed, the cluster restarts none by itself (OnDelete)",
		Needs:  "every pod is ready, and nobody else changed the StatefulSet",
		Checks: "the StatefulSet is there, and every pod still is",
		Undoes: "makes the StatefulSet again as it was, and renews the pods that have moved, one by one",
		Require: func(ctx context.Context) error {
			o, err := r.objects(ctx)
			if err != nil {
				return err
			}
			if !same(o.Set, r.state.Before) {
				return r.changed(o.Set)
			}
			return together(r.unready(o))
		},
		Do: func(ctx context.Context) error { return r.put(ctx, r.state.Change.After, onDelete) },
		Check: func(ctx context.Context) error {
			o, err := r.objects(ctx)
			if err != nil {
				return err
			}
			return together(r.unready(o))
		},
		Undo: func(ctx context.Context) error {
			if err := r.put(ctx, r.state.Before, onDelete); err != nil {
				return err
			}
			for i := range discover.Replicas(r.state.Before) {
				if err := r.restart(ctx, i, r.state.Before); err != nil {
					return err
				}
			}
			return r.put(ctx, r.state.Before, r.state.Before.Spec.UpdateStrategy)
		},
	}
}

// renew makes one pod anew, by which its log moves.
func (r *Rollout) renew(member int) steps.Step {
	name := r.pod(member)
	what, undo := "deletes pod "+name+
		"; the new one has the new template", "nothing: the pod is renewed once the StatefulSet is as it was"
	if r.state.Change.Log != "" {
		from, to := logPaths(r.state.Change.After)
		what = "deletes pod " + name +
			"; before the database of the new one starts, its init container copies the log from " +
			from + " to " +
			to + ", compares the two, and leaves a link. The old log stays as " +
			from + ".plimsoll-old"
		undo = "deletes the pod; the init container of the new one moves the log back, with all that was written since"
	}

	return steps.Step{
		Name: name, Member: name, What: what,
		Needs:  "every pod is ready, and nobody else changed the StatefulSet",
		Checks: "the new pod is ready, and its claims are bound in one zone",
		Undoes: undo,
		Require: func(ctx context.Context) error {
			o, err := r.objects(ctx)
			if err != nil {
				return err
			}

			out := r.unready(o)
			if !r.stands(o.Set, r.state.Change.After) {
				out = append(out, r.changed(o.Set))
			}

			if data := r.state.Change.Data; data != "" {
				out = append(out, r.bound(o, data, member)...)
			}

			return together(out)
		},
		Do: func(ctx context.Context) error { return r.restart(ctx, member, r.state.Change.After) },
		Check: func(ctx context.Context) error {
			if r.state.Change.Log == "" {
				return nil
			}
			o, err := r.objects(ctx)
			if err != nil {
				return err
			}
			return together(append(r.bound(o, r.state.Change.Log, member), r.oneZone(o, member)...))
		},
		Undo: func(ctx context.Context) error {
			if r.state.Change.Back == nil {
				return nil
			}

			if err := r.revive(ctx, member); err != nil {
				return err
			}

			if err := r.put(ctx, r.state.Change.Back, onDelete); err != nil {
				return err
			}

			pod, err := cluster.Pods.Get(ctx, r.c, r.at.Namespace, name)
			if err == nil && fits(pod, r.state.Before) {
				return nil // it was never deleted
			}

			if err != nil && !cluster.IsMissing(err) {
				return err
			}

			return r.restart(ctx, member, r.state.Change.Back)
		},
	}
}

// logPaths are the container's paths of the log before and after the move.
func logPaths(set *appsv1.StatefulSet) (from, to string) {
	for _, c := range set.Spec.Template.Spec.InitContainers {
		if c.Name == emit.Mover && len(c.Command) > emit.MoverTo {
			return c.Command[emit.MoverFrom], c.Command[emit.MoverTo]
		}
	}
	return "its place", "the new claim"
}

// revive lets the cluster make other pods again that are missing: behind a pod that lacks a claim of
// a template it makes none, and the set as it was has no such template.
func (r *Rollout) revive(ctx context.Context, member int) error {
	for i := range discover.Replicas(r.state.Before) {
		_, err := cluster.Pods.Get(ctx, r.c, r.at.Namespace, r.pod(i))
		if i == member || !cluster.IsMissing(err) {
			continue
		}
		if err := r.put(ctx, r.state.Before, onDelete); err != nil {
			return err
		}
		return r.othersReady(ctx, member, r.state.Before)
	}
	return nil
}

// oneZone fails if a member's log and data are in different zones.
func (r *Rollout) oneZone(o *discover.Objects, member int) []error {
	of := func(template string) string {
		claim := o.Claims[r.claimOf(template, member)]
		if claim == nil {
			return ""
		}
		return cluster.Zone(o.Volumes[claim.Spec.VolumeName])
	}
	data, log := of(r.state.Change.Data), of(r.state.Change.Log)
	if data != "" && log != "" && data != log {
		return []error{fmt.Errorf("pod %s has its data in zone %s and its log in %s", r.pod(member), data, log)}
	}
	return nil
}

// strategy lets the set update its pods as before. All of them have its template by now, so none is
// restarted.
func (r *Rollout) strategy() steps.Step {
	return steps.Step{
		Name: "strategy", What: "sets the StatefulSet's update strategy back to " +
			string(r.state.Before.Spec.UpdateStrategy.Type),
		Needs:  "every pod is ready and has the new template",
		Undoes: "nothing: the pods' undo sets it to OnDelete again",
		Require: func(ctx context.Context) error {
			o, err := r.objects(ctx)
			if err != nil {
				return err
			}
			out := r.unready(o)
			for i, p := range o.Pods {
				if p != nil && !fits(p, r.state.Change.After) {
					out = append(out, fmt.Errorf("pod %s has another template", r.pod(i)))
				}
			}
			return together(out)
		},
		Do: func(ctx context.Context) error {
			return r.put(ctx, r.state.Change.After, r.state.Before.Spec.UpdateStrategy)
		},
	}
}

// fits reports whether a pod was made from a set's template, as far as a rollout changes it.
func fits(p *corev1.Pod, set *appsv1.StatefulSet) bool {
	mover := func(list []corev1.Container) []string {
		for i := range list {
			if list[i].Name == emit.Mover {
				return list[i].Command
			}
		}
		return nil
	}

	template := &set.Spec.Template.Spec
	if !slices.Equal(mover(p.Spec.InitContainers), mover(template.InitContainers)) {
		return false
	}

	for i := range template.Containers {
		want := &template.Containers[i]
		at := slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == want.Name })
		if at < 0 {
			return false
		}

		is := &p.Spec.Containers[at]
		memory, wanted := is.Resources.Limits[corev1.ResourceMemory], want.Resources.Limits[corev1.ResourceMemory]
		if memory.Cmp(wanted) != 0 {
			return false
		}

		for _, m := range want.VolumeMounts {
			if !slices.ContainsFunc(is.VolumeMounts,
				func(has corev1.VolumeMount) bool { return has.Name == m.Name && has.MountPath == m.MountPath }) {
				return false
			}
		}
	}

	return true
}

// stands reports whether the cluster's set is this one, and restarts no pod by itself.
func (r *Rollout) stands(live, want *appsv1.StatefulSet) bool {
	return same(live, want) && live.DeletionTimestamp == nil && live.Spec.UpdateStrategy.Type == onDelete.Type
}

// restart makes a pod anew unless it has a set's template already, and waits until it is ready. It
// deletes a pod only while the set stands and all others are ready.
func (r *Rollout) restart(ctx context.Context, member int, of *appsv1.StatefulSet) error {
	name := r.pod(member)
	pod, err := cluster.Pods.Get(ctx, r.c, r.at.Namespace, name)
	if err != nil && !cluster.IsMissing(err) {
		return err
	}

	failed := failures(pod)
	if err == nil && pod.DeletionTimestamp == nil && !fits(pod, of) {
		if err := r.othersReady(ctx, member, of); err != nil {
			return fmt.Errorf("pod %s is not deleted: %w", name, err)
		}
		err := cluster.Pods.Delete(ctx, r.c, r.at.Namespace, name, pod.UID, false)
		// a conflict: there is another pod of its name already
		if err != nil && !cluster.IsMissing(err) && !cluster.IsConflict(err) {
			return err
		}
		r.point("deleted " + name)
	}

	return r.awaitReady(ctx, member, of, failed)
}

// othersReady waits until all pods but one are ready at the same time. It fails if the cluster's set
// is another one.
func (r *Rollout) othersReady(ctx context.Context, member int, of *appsv1.StatefulSet) error {
	return cluster.Wait(ctx, r.opt.Every, r.opt.Patience, func(ctx context.Context) (string, error) {
		for i := range discover.Replicas(r.state.Before) {
			pod, err := cluster.Pods.Get(ctx, r.c, r.at.Namespace, r.pod(i))
			if err != nil && !cluster.IsMissing(err) {
				return "", err
			}
			if err == nil && !discover.Ready(pod) && i != member {
				return fmt.Sprintf("pod %s is not ready: %s", r.pod(i), trouble(pod)), nil
			}
			if err != nil && i != member {
				return fmt.Sprintf("pod %s is not there", r.pod(i)), nil
			}
		}

		live, err := cluster.StatefulSets.Get(ctx, r.c, r.at.Namespace, r.at.Name)
		if err != nil {
			return "", err
		}

		if !r.stands(live, of) {
			return "", r.changed(live)
		}

		return "", nil
	})
}
