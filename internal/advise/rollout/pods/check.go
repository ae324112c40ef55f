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
	"plimsoll/internal/record/kubeclient"
)

// check returns the first step: all checks that are possible before anything changes.
func (r *Rollout) check() steps.Step {
	return steps.Step{
		Name: "check", What: "checks the StatefulSet, its pods, claims, volumes and classes",
		Needs:   "you have all permissions that the steps need, nothing else owns or changes the StatefulSet, every pod is ready, every claim is bound in its pod's zone, and the classes allow the change",
		Require: func(ctx context.Context) error { return together(r.Problems(ctx)) },
	}
}

// Problems returns the reasons why the rollout cannot start, if they are visible without changing
// anything.
func (r *Rollout) Problems(ctx context.Context) []error {
	set, err := kubeclient.StatefulSets.Get(ctx, r.c, r.at.Namespace, r.at.Name)
	if err != nil {
		return []error{err}
	}

	objects, err := discover.Read(ctx, r.c, set)
	if err != nil {
		return []error{err}
	}

	out := r.denied(ctx)
	problem := func(next, format string, args ...any) { out = append(out, steps.Inputf(next, format, args...)) }
	if !same(set, r.state.Before) {
		problem("check what changed, and plan again: kubectl rollout history statefulset "+r.at.Name+" -n "+
			r.at.Namespace, "the StatefulSet %s was changed outside this rollout (generation %d, was %d)", r.at.Name,
			set.Generation, r.state.Before.Generation)
	}

	if owner := metav1.GetControllerOf(set); owner != nil && r.state.Change.After != nil {
		problem("change that instead, or stop its operator for the rollout",
			"%s %s owns the StatefulSet and would revert the change", owner.Kind, owner.Name)
	}

	// Recreating the set deletes it first, which would trigger the claims' deletion.
	if p := set.Spec.PersistentVolumeClaimRetentionPolicy; p != nil &&
		p.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && r.state.Change.Log != "" {
		problem("set persistentVolumeClaimRetentionPolicy.whenDeleted to Retain first",
			"the rollout has to recreate %s, but deleting it would delete its claims", r.at.Name)
	}

	if err := r.unprobed(); err != nil {
		out = append(out, err)
	}

	out = append(out, r.unready(objects)...)
	for i := range objects.Pods {
		for _, t := range set.Spec.VolumeClaimTemplates {
			out = append(out, r.bound(objects, t.Name, i)...)
		}
	}

	for k := range r.state.Change.Claims {
		ch := &r.state.Change.Claims[k]
		for i := range objects.Pods {
			claim := objects.Claims[r.claimOf(ch.Template, i)]
			// A missing claim is reported by bound already.
			if claim == nil || !concerns(ch, i) {
				continue
			}
			if err := changeable(ch.Size != nil, claim, objects); err != nil {
				out = append(out, err)
			}
		}
	}

	if log := r.state.Change.Log; log != "" {
		out = append(out, r.unused(ctx, log)...)
	}

	for _, denied := range objects.Denied {
		out = append(out, steps.Inputf("docs/kubernetes.md has a role with the required permissions", "%s", denied))
	}

	return out
}

// together joins errors on one line, each with its hint; nil if there are none.
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

// denied returns the missing permissions for all steps. It runs before the first step, because a user who
// may delete the set but not create it must not start.
func (r *Rollout) denied(ctx context.Context) (out []error) {
	may := func(err error) {
		if err != nil {
			out = append(out, err)
		}
	}

	ns, change := r.at.Namespace, r.state.Change
	may(kubeclient.ConfigMaps.Allowed(ctx, r.c, "create", ns, ""))
	may(kubeclient.ConfigMaps.Allowed(ctx, r.c, "update", ns, r.store.name()))

	if len(change.Classes) > 0 {
		may(kubeclient.StorageClasses.Allowed(ctx, r.c, "create", "", ""))
	}

	if slices.ContainsFunc(change.Claims, func(ch emit.ClaimChange) bool { return ch.Attributes != nil }) {
		may(kubeclient.AttributesClasses.Allowed(ctx, r.c, "create", "", ""))
	}

	if len(change.Claims) > 0 {
		may(kubeclient.Claims.Allowed(ctx, r.c, "patch", ns, ""))
	}

	if change.After != nil {
		may(kubeclient.StatefulSets.Allowed(ctx, r.c, "update", ns, r.at.Name))
		may(kubeclient.Pods.Allowed(ctx, r.c, "delete", ns, ""))
	}

	if change.Log != "" {
		may(kubeclient.StatefulSets.Allowed(ctx, r.c, "create", ns, ""))
		may(kubeclient.StatefulSets.Allowed(ctx, r.c, "delete", ns, r.at.Name))
	}

	return out
}

// unprobed fails if the rollout recreates pods whose readiness does not depend on the database: the next
// member would go down while the previous one still recovers.
func (r *Rollout) unprobed() error {
	if r.state.Change.After == nil || emit.Replicas(r.state.Before) < 2 {
		return nil
	}
	for _, c := range r.state.Before.Spec.Template.Spec.Containers {
		if c.Name == r.state.Change.Container && c.ReadinessProbe == nil {
			return steps.Inputf("add one that queries the database",
				"container %s has no readiness probe: Kubernetes would report a member as ready before its database is",
				c.Name)
		}
	}
	return nil
}

// unready returns an error for each pod that is not ready.
func (r *Rollout) unready(o *discover.Objects) (out []error) {
	for i, p := range o.Pods {
		if !discover.Ready(p) {
			out = append(out, steps.Inputf("kubectl describe pod "+r.pod(i)+" -n "+r.at.Namespace,
				"pod %s is not ready: %s", r.pod(i), trouble(p)))
		}
	}
	return out
}

// bound returns the problems of a member's claim.
func (r *Rollout) bound(o *discover.Objects, template string, member int) (out []error) {
	name := r.claimOf(template, member)
	claim := o.Claims[name]
	if claim == nil || claim.Status.Phase != corev1.ClaimBound {
		return append(out, steps.Inputf("for the reason, run kubectl describe pvc "+name+" -n "+r.at.Namespace,
			"claim %s is not bound to a volume", name))
	}
	zone := kubeclient.Zone(o.Volumes[claim.Spec.VolumeName])
	if p := o.Pods[member]; p != nil {
		if node := kubeclient.NodeZone(o.Nodes[p.Spec.NodeName]); zone != "" && node != "" && zone != node {
			out = append(out, steps.Inputf("the pod would not start again: check its node and volume",
				"claim %s is bound to a volume in zone %s, but its pod's node is in %s", name, zone, node))
		}
	}
	return out
}

// changeable fails if a claim cannot be changed in place.
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
			" -p '{\"allowVolumeExpansion\": true}', if its driver supports it",
			"claim %s cannot grow: its StorageClass %s does not allow expansion", claim.Name, class.Name)
	}

	return nil
}

// unused fails if claims for the log already exist, because their contents are unknown. Claims that an
// earlier rollout labelled are allowed.
func (r *Rollout) unused(ctx context.Context, template string) (out []error) {
	for i := range emit.Replicas(r.state.Before) {
		name := r.claimOf(template, i)
		claim, err := kubeclient.Claims.Get(ctx, r.c, r.at.Namespace, name)
		switch {
		case kubeclient.IsMissing(err):
		case err != nil:
			out = append(out, err)
		case claim.Labels[madeFor] != r.at.Name:
			out = append(out, steps.Inputf("check its contents; the rollout does not delete claims",
				"claim %s already exists", name))
		}
	}
	return out
}

// madeFor labels the claims that a rollout created, so that the next one may use them.
const madeFor = "plimsoll.dev/log-of"

// trouble returns why a pod is not ready.
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
				return strings.TrimSuffix(fmt.Sprintf("container %s is waiting: %s: %s", s.Name, s.State.Waiting.Reason,
					s.State.Waiting.Message), ": ")
			}
			if s.State.Terminated != nil && s.State.Terminated.ExitCode != 0 {
				return fmt.Sprintf("container %s exited with code %d", s.Name, s.State.Terminated.ExitCode)
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
