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
	"plimsoll/internal/record/kubeclient"
)

// same reports whether two sets have the same specification, ignoring their update strategies.
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

// onDelete is the update strategy that only replaces pods after they were deleted.
var onDelete = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}

// put changes the cluster's set to want, with an update strategy. It starts from the set that it finds, so
// that it can be repeated after an interruption.
func (r *Rollout) put(ctx context.Context, want *appsv1.StatefulSet,
	strategy appsv1.StatefulSetUpdateStrategy) error {
	return r.retry(func() error { return r.putOnce(ctx, want, strategy) })
}

func (r *Rollout) putOnce(ctx context.Context, want *appsv1.StatefulSet,
	strategy appsv1.StatefulSetUpdateStrategy) error {
	live, err := kubeclient.StatefulSets.Get(ctx, r.c, r.at.Namespace, r.at.Name)
	if err != nil && !kubeclient.IsMissing(err) {
		return err
	}

	if err == nil && live.DeletionTimestamp == nil {
		switch {
		case same(live, want) && reflect.DeepEqual(live.Spec.UpdateStrategy, strategy):
			return nil
		// Any other version was changed outside this rollout, and must not be overwritten.
		case !same(live, r.state.Before) && !same(live, r.state.Change.After) && !same(live, r.state.Change.Back):
			return r.changed(live)
		case sameTemplates(live, want):
			next := live.DeepCopy()
			next.Spec.Template, next.Spec.UpdateStrategy = want.Spec.Template, strategy
			if _, err := kubeclient.StatefulSets.Update(ctx, r.c, r.at.Namespace, r.at.Name, next); err != nil {
				return err
			}
			r.point("updated the set")
			return nil
		}

		// Claim templates are immutable, so the set has to be deleted and recreated. The UID makes
		// sure that it is the set that was checked; the pods are orphaned and keep running.
		if err := kubeclient.StatefulSets.Delete(ctx, r.c, r.at.Namespace, r.at.Name, live.UID, true); err != nil &&
			!kubeclient.IsMissing(err) {
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

	if _, err = kubeclient.StatefulSets.Create(ctx, r.c, r.at.Namespace, next, false); err != nil {
		return err
	}

	r.point("made the set")
	return nil
}

// changed returns the error for a set that was changed outside this rollout.
func (r *Rollout) changed(live *appsv1.StatefulSet) error {
	return steps.Inputf(
		fmt.Sprintf("check it with kubectl get statefulset %s -n %s -o yaml; the rollout can continue or be undone once the change is reverted",
			r.at.Name, r.at.Namespace),
		"the StatefulSet %s was changed outside this rollout (generation %d)", r.at.Name, live.Generation)
}

// gone waits until the deletion of the set is complete, which orphans its pods first. It fails if the
// deletion would delete the pods too.
func (r *Rollout) gone(ctx context.Context) error {
	return kubeclient.Wait(ctx, r.opt.Every, r.opt.Patience, func(ctx context.Context) (string, error) {
		live, err := kubeclient.StatefulSets.Get(ctx, r.c, r.at.Namespace, r.at.Name)
		switch {
		case kubeclient.IsMissing(err):
			return "", nil
		case err != nil:
			return "", err
		case live.DeletionTimestamp == nil:
			return "", fmt.Errorf("the StatefulSet %s was recreated outside this rollout", r.at.Name)
		case !slices.Contains(live.Finalizers, "orphan"):
			return "", fmt.Errorf("the StatefulSet %s is being deleted outside this rollout", r.at.Name)
		}
		return "the StatefulSet still exists: is the cluster's garbage collector running?", nil
	})
}

func sameTemplates(a, b *appsv1.StatefulSet) bool {
	return reflect.DeepEqual(specOf(a)["volumeClaimTemplates"], specOf(b)["volumeClaimTemplates"])
}

// replace returns the step that replaces the set by the changed one. The pods keep running.
func (r *Rollout) replace() steps.Step {
	what := "updates the StatefulSet's template"
	if r.state.Change.Log != "" {
		what = "deletes the StatefulSet without its pods (--cascade=orphan), and recreates it with the claim template " +
			r.state.Change.Log + " and an init container that moves the log"
	}

	return steps.Step{
		Name: "statefulset", What: what +
			". The pods keep running; until all are recreated, the cluster does not restart any on its own (OnDelete)",
		Needs:  "every pod is ready, and the StatefulSet was not changed outside this rollout",
		Checks: "the StatefulSet exists, and every pod is ready",
		Undoes: "recreates the original StatefulSet, and recreates the pods that were changed, one by one",
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
		Do:    func(ctx context.Context) error { return r.put(ctx, r.state.Change.After, onDelete) },
		Check: r.checking(r.unready),
		Undo: func(ctx context.Context) error {
			if err := r.put(ctx, r.state.Before, onDelete); err != nil {
				return err
			}
			// Ascending order, like the rollout: see the package doc.
			for i := range emit.Replicas(r.state.Before) {
				if err := r.restart(ctx, i, r.state.Before); err != nil {
					return err
				}
			}
			return r.put(ctx, r.state.Before, r.state.Before.Spec.UpdateStrategy)
		},
	}
}

// renew returns the step that recreates a pod, which moves its log.
func (r *Rollout) renew(member int) steps.Step {
	name := r.pod(member)
	what, undo := "deletes pod "+name+
		"; the new one has the new template", "nothing: the pod is recreated after the StatefulSet is restored"
	if r.state.Change.Log != "" {
		from, to := logPaths(r.state.Change.After)
		what = "deletes pod " + name +
			"; before the database of the new one starts, its init container copies the log from " +
			from + " to " +
			to + ", compares the two, and leaves a link. The old log is kept as " +
			from + ".plimsoll-old"
		undo = "deletes the pod; the init container of the new one moves the log back, including everything written since"
	}

	return steps.Step{
		Name: name, Member: name, What: what,
		Needs:  "every pod is ready, and the StatefulSet was not changed outside this rollout",
		Checks: "the new pod is ready, and its claims are bound in one zone",
		Undoes: undo,
		Require: r.checking(func(o *discover.Objects) []error {
			out := r.unready(o)
			if !r.inPlace(o.Set, r.state.Change.After) {
				out = append(out, r.changed(o.Set))
			}

			if data := r.state.Change.Data; data != "" {
				out = append(out, r.bound(o, data, member)...)
			}

			return out
		}),
		Do: func(ctx context.Context) error { return r.restart(ctx, member, r.state.Change.After) },
		Check: func(ctx context.Context) error {
			if r.state.Change.Log == "" {
				return nil
			}
			return r.checking(func(o *discover.Objects) []error {
				return append(r.bound(o, r.state.Change.Log, member), r.oneZone(o, member)...)
			})(ctx)
		},
		Undo: func(ctx context.Context) error {
			if r.state.Change.Back == nil {
				return nil
			}

			// Other members must be ready before this one may go down.
			if err := r.revive(ctx, member); err != nil {
				return err
			}

			if err := r.put(ctx, r.state.Change.Back, onDelete); err != nil {
				return err
			}

			pod, err := kubeclient.Pods.Get(ctx, r.c, r.at.Namespace, name)
			if err == nil && fits(pod, r.state.Before) {
				return nil // the pod was never deleted
			}

			if err != nil && !kubeclient.IsMissing(err) {
				return err
			}

			return r.restart(ctx, member, r.state.Change.Back)
		},
	}
}

// logPaths returns the paths of the log in the container before and after the move.
func logPaths(set *appsv1.StatefulSet) (from, to string) {
	for _, c := range set.Spec.Template.Spec.InitContainers {
		if c.Name == emit.Mover && len(c.Command) > emit.MoverTo {
			return c.Command[emit.MoverFrom], c.Command[emit.MoverTo]
		}
	}
	return "its place", "the new claim"
}

// revive makes the cluster recreate other pods that are missing. The controller stops at a pod that lacks
// the claim of a template, and creates none with a higher ordinal. The original set has no such template.
func (r *Rollout) revive(ctx context.Context, member int) error {
	for i := range emit.Replicas(r.state.Before) {
		_, err := kubeclient.Pods.Get(ctx, r.c, r.at.Namespace, r.pod(i))
		if i == member || !kubeclient.IsMissing(err) {
			continue
		}
		if err := r.put(ctx, r.state.Before, onDelete); err != nil {
			return err
		}
		return r.othersReady(ctx, member, r.state.Before)
	}
	return nil
}

// oneZone fails if a member's log and data are in different zones: the pod could not be scheduled.
func (r *Rollout) oneZone(o *discover.Objects, member int) []error {
	of := func(template string) string {
		claim := o.Claims[r.claimOf(template, member)]
		if claim == nil {
			return ""
		}
		return kubeclient.Zone(o.Volumes[claim.Spec.VolumeName])
	}
	data, log := of(r.state.Change.Data), of(r.state.Change.Log)
	if data != "" && log != "" && data != log {
		return []error{fmt.Errorf("pod %s has its data in zone %s but its log in %s", r.pod(member), data, log)}
	}
	return nil
}

// strategy returns the step that restores the set's update strategy. All pods have the new template by
// now, so none restarts.
func (r *Rollout) strategy() steps.Step {
	return steps.Step{
		Name: "strategy", What: "sets the StatefulSet's update strategy back to " +
			string(r.state.Before.Spec.UpdateStrategy.Type),
		Needs:  "every pod is ready and has the new template",
		Undoes: "nothing: the pods' undo sets it to OnDelete again",
		Require: r.checking(func(o *discover.Objects) []error {
			out := r.unready(o)
			for i, p := range o.Pods {
				if p != nil && !fits(p, r.state.Change.After) {
					out = append(out, fmt.Errorf("pod %s does not have the new template", r.pod(i)))
				}
			}
			return out
		}),
		Do: func(ctx context.Context) error {
			return r.put(ctx, r.state.Change.After, r.state.Before.Spec.UpdateStrategy)
		},
	}
}

// fits reports whether a pod matches a set's template in everything that a rollout changes: the init
// container that moves the log, the memory limits, and the mounts.
func fits(pod *corev1.Pod, set *appsv1.StatefulSet) bool {
	mover := func(list []corev1.Container) []string {
		for i := range list {
			if list[i].Name == emit.Mover {
				return list[i].Command
			}
		}
		return nil
	}

	template := &set.Spec.Template.Spec

	// The server and admission controllers add fields to pods, so compare only what the rollout
	// changes.
	if !slices.Equal(mover(pod.Spec.InitContainers), mover(template.InitContainers)) {
		return false
	}

	for i := range template.Containers {
		want := &template.Containers[i]
		at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == want.Name })
		if at < 0 {
			return false
		}

		is := &pod.Spec.Containers[at]
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

// inPlace reports whether the cluster's set is the wanted one and does not restart pods on its own.
func (r *Rollout) inPlace(live, want *appsv1.StatefulSet) bool {
	return same(live, want) && live.DeletionTimestamp == nil && live.Spec.UpdateStrategy.Type == onDelete.Type
}

// restart recreates a pod unless it already has the set's template, and waits until it is ready. It
// deletes the pod only while the set is in place and all other pods are ready.
func (r *Rollout) restart(ctx context.Context, member int, of *appsv1.StatefulSet) error {
	name := r.pod(member)
	pod, err := kubeclient.Pods.Get(ctx, r.c, r.at.Namespace, name)
	if err != nil && !kubeclient.IsMissing(err) {
		return err
	}

	// Failures before the restart must not count against the new attempt.
	failed := failures(pod)
	if err == nil && pod.DeletionTimestamp == nil && !fits(pod, of) {
		if err := r.othersReady(ctx, member, of); err != nil {
			return fmt.Errorf("pod %s is not deleted: %w", name, err)
		}
		err := kubeclient.Pods.Delete(ctx, r.c, r.at.Namespace, name, pod.UID, false)
		// A conflict means that another pod already has the name.
		if err != nil && !kubeclient.IsMissing(err) && !kubeclient.IsConflict(err) {
			return err
		}
		r.point("deleted " + name)
	}

	return r.awaitReady(ctx, member, of, failed)
}

// othersReady waits until all pods except one are ready at the same time. It fails if the set was changed
// outside this rollout.
func (r *Rollout) othersReady(ctx context.Context, member int, of *appsv1.StatefulSet) error {
	return kubeclient.Wait(ctx, r.opt.Every, r.opt.Patience, func(ctx context.Context) (string, error) {
		for i := range emit.Replicas(r.state.Before) {
			pod, err := kubeclient.Pods.Get(ctx, r.c, r.at.Namespace, r.pod(i))
			if err != nil && !kubeclient.IsMissing(err) {
				return "", err
			}
			if err == nil && !discover.Ready(pod) && i != member {
				return fmt.Sprintf("pod %s is not ready: %s", r.pod(i), trouble(pod)), nil
			}
			if err != nil && i != member {
				return fmt.Sprintf("pod %s does not exist", r.pod(i)), nil
			}
		}

		live, err := kubeclient.StatefulSets.Get(ctx, r.c, r.at.Namespace, r.at.Name)
		if err != nil {
			return "", err
		}

		if !r.inPlace(live, of) {
			return "", r.changed(live)
		}

		return "", nil
	})
}
