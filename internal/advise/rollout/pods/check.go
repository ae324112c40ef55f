package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/record/cluster"
)

// check is the first step: everything that can be seen before anything changes.
func (r *Rollout) check() steps.Step {
	return steps.Step{
		Name: "check", What: "looks at the StatefulSet, its pods, claims, volumes and classes",
		Needs:   "you have every permission that the steps take, nobody else owns or changes the StatefulSet, every pod is ready, every claim is bound in its pod's zone, and the classes allow the change",
		Require: func(ctx context.Context) error { return together(r.Problems(ctx)) },
	}
}

// Problems are what keeps the rollout from beginning, as far as it can be seen without changing
// anything.
func (r *Rollout) Problems(ctx context.Context) []error {
	set, err := cluster.StatefulSets.Get(ctx, r.c, r.at.Namespace, r.at.Name)
	if err != nil {
		return []error{err}
	}

	o, err := discover.Read(ctx, r.c, set)
	if err != nil {
		return []error{err}
	}

	out := r.denied(ctx)
	problem := func(next, format string, args ...any) { out = append(out, steps.Inputf(next, format, args...)) }
	if !same(set, r.state.Before) {
		problem("plan again, and look at what changed: kubectl rollout history statefulset "+r.at.Name+" -n "+
			r.at.Namespace, "somebody else changed the StatefulSet %s meanwhile (generation %d, it was %d)", r.at.Name,
			set.Generation, r.state.Before.Generation)
	}

	if owner := metav1.GetControllerOf(set); owner != nil && r.state.Change.After != nil {
		problem("change that instead, or stop its operator meanwhile",
			"%s %s owns the StatefulSet and would undo the change", owner.Kind, owner.Name)
	}

	if p := set.Spec.PersistentVolumeClaimRetentionPolicy; p != nil &&
		p.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && r.state.Change.Log != "" {
		problem("set persistentVolumeClaimRetentionPolicy.whenDeleted to Retain first",
			"the claims of %s are deleted with it, and it has to be replaced", r.at.Name)
	}

	if err := r.unprobed(); err != nil {
		out = append(out, err)
	}

	out = append(out, r.unready(o)...)
	for i := range o.Pods {
		for _, t := range set.Spec.VolumeClaimTemplates {
			out = append(out, r.bound(o, t.Name, i)...)
		}
	}

	for k := range r.state.Change.Claims {
		ch := &r.state.Change.Claims[k]
		for i := range o.Pods {
			claim := o.Claims[r.claimOf(ch.Template, i)]
			if claim == nil || !concerns(ch, i) {
				continue
			}
			if err := changeable(ch.Size != nil, claim, o); err != nil {
				out = append(out, err)
			}
		}
	}

	if log := r.state.Change.Log; log != "" {
		out = append(out, r.unused(ctx, log)...)
	}

	for _, denied := range o.Denied {
		out = append(out, steps.Inputf("docs/kubernetes.md has a role with what is needed", "%s", denied))
	}

	return out
}

// together is one error of several, on one line, each with what to do about it; nil of none.
func together(errs []error) error {
	var all []string
	for _, err := range errs {
		if err != nil {
			all = append(all, steps.Hinted(err))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return errors.New(strings.Join(all, "; "))
}

// denied names the permissions that a step would lack: the set must not be deleted by somebody who
// may not make it again.
func (r *Rollout) denied(ctx context.Context) (out []error) {
	may := func(err error) {
		if err != nil {
			out = append(out, err)
		}
	}

	ns, change := r.at.Namespace, r.state.Change
	may(cluster.ConfigMaps.Allowed(ctx, r.c, "create", ns, ""))
	may(cluster.ConfigMaps.Allowed(ctx, r.c, "update", ns, r.store.name()))

	if len(change.Classes) > 0 {
		may(cluster.StorageClasses.Allowed(ctx, r.c, "create", "", ""))
	}

	if slices.ContainsFunc(change.Claims, func(ch emit.ClaimChange) bool { return ch.Attributes != nil }) {
		may(cluster.AttributesClasses.Allowed(ctx, r.c, "create", "", ""))
	}

	if len(change.Claims) > 0 {
		may(cluster.Claims.Allowed(ctx, r.c, "patch", ns, ""))
	}

	if change.After != nil {
		may(cluster.StatefulSets.Allowed(ctx, r.c, "update", ns, r.at.Name))
		may(cluster.Pods.Allowed(ctx, r.c, "delete", ns, ""))
	}

	if change.Log != "" {
		may(cluster.StatefulSets.Allowed(ctx, r.c, "create", ns, ""))
		may(cluster.StatefulSets.Allowed(ctx, r.c, "delete", ns, r.at.Name))
	}

	return out
}

// unprobed fails if pods are made anew and "ready" says nothing of the database: the next member
// would go down while this one still recovers.
func (r *Rollout) unprobed() error {
	if r.state.Change.After == nil || discover.Replicas(r.state.Before) < 2 {
		return nil
	}
	for _, c := range r.state.Before.Spec.Template.Spec.Containers {
		if c.Name == r.state.Change.Container && c.ReadinessProbe == nil {
			return steps.Inputf("add one that asks the database",
				"container %s has no readiness probe: the cluster calls a member ready before its database is", c.Name)
		}
	}
	return nil
}

// unready names the pods that are not ready.
func (r *Rollout) unready(o *discover.Objects) (out []error) {
	for i, p := range o.Pods {
		if !discover.Ready(p) {
			out = append(out, steps.Inputf("kubectl describe pod "+r.pod(i)+" -n "+r.at.Namespace,
				"pod %s is not ready: %s", r.pod(i), trouble(p)))
		}
	}
	return out
}

// bound says what is wrong with a member's claim.
func (r *Rollout) bound(o *discover.Objects, template string, member int) (out []error) {
	name := r.claimOf(template, member)
	claim := o.Claims[name]
	if claim == nil || claim.Status.Phase != corev1.ClaimBound {
		return append(out, steps.Inputf("kubectl describe pvc "+name+" -n "+r.at.Namespace+" says why",
			"claim %s is not bound to a volume", name))
	}
	zone := cluster.Zone(o.Volumes[claim.Spec.VolumeName])
	if p := o.Pods[member]; p != nil {
		if node := cluster.NodeZone(o.Nodes[p.Spec.NodeName]); zone != "" && node != "" && zone != node {
			out = append(out, steps.Inputf("such a pod cannot start again: look at its node and volume",
				"claim %s is bound to a volume in zone %s, and its pod's node is in %s", name, zone, node))
		}
	}
	return out
}

// changeable fails if a claim cannot change in place.
func changeable(grows bool, claim *corev1.PersistentVolumeClaim, o *discover.Objects) error {
	if m := claim.Status.ModifyVolumeStatus; m != nil {
		return steps.Inputf("wait until it is done", "the volume of claim %s is being modified to %s (%s)",
			claim.Name, m.TargetVolumeAttributesClassName, m.Status)
	}
	if slices.ContainsFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == corev1.PersistentVolumeClaimResizing ||
			c.Type == corev1.PersistentVolumeClaimFileSystemResizePending)
	}) {
		return steps.Inputf("wait until it is done", "the volume of claim %s is being resized", claim.Name)
	}
	if !grows || claim.Spec.StorageClassName == nil {
		return nil
	}

	class := o.Classes[*claim.Spec.StorageClassName]
	if class != nil && (class.AllowVolumeExpansion == nil || !*class.AllowVolumeExpansion) {
		return steps.Inputf("kubectl patch storageclass "+class.Name+
			" -p '{\"allowVolumeExpansion\": true}', if its driver can",
			"claim %s cannot grow: its StorageClass %s does not allow expansion", claim.Name, class.Name)
	}

	return nil
}

// unused fails if claims for the log exist already: what is in them is not known.
func (r *Rollout) unused(ctx context.Context, template string) (out []error) {
	for i := range discover.Replicas(r.state.Before) {
		name := r.claimOf(template, i)
		claim, err := cluster.Claims.Get(ctx, r.c, r.at.Namespace, name)
		switch {
		case cluster.IsMissing(err):
		case err != nil:
			out = append(out, err)
		case claim.Labels[madeFor] != r.at.Name:
			out = append(out, steps.Inputf("look at what is in it; the rollout deletes no claim",
				"claim %s exists already", name))
		}
	}
	return out
}

// madeFor labels the claims that a rollout has made, so that the next one may use them.
const madeFor = "plimsoll.dev/log-of"

// trouble says why a pod is not ready.
func trouble(p *corev1.Pod) string {
	if p == nil {
		return "it does not exist"
	}
	if p.DeletionTimestamp != nil {
		return "it is being deleted"
	}

	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, s := range list {
			if s.State.Waiting != nil && s.State.Waiting.Reason != "PodInitializing" &&
				s.State.Waiting.Reason != "ContainerCreating" {
				return strings.TrimSuffix(fmt.Sprintf("container %s waits: %s: %s", s.Name, s.State.Waiting.Reason,
					s.State.Waiting.Message), ": ")
			}
			if s.State.Terminated != nil && s.State.Terminated.ExitCode != 0 {
				return fmt.Sprintf("container %s ended with exit code %d", s.Name, s.State.Terminated.ExitCode)
			}
		}
	}

	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionFalse && c.Message != "" {
			return c.Message
		}
	}

	return "it is " + strings.ToLower(string(p.Status.Phase))
}
