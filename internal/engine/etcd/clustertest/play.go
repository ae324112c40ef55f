//go:build linux

package clustertest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"plimsoll/internal/record/kubeclient"
)

// A Play stands in for everything but the API server, for one StatefulSet. Each call of [Play.Turn]
// does what the components would do next. It reproduces what a rollout depends on:
//
//   - The controller makes pods one by one in their order, gives each the claims that it lacks,
//     fails at a pod that lacks a template's claim and makes no later pod, waits for a pod that is
//     not ready, replaces pods whose revision is old unless the set updates OnDelete, adopts pods
//     without an owner, and writes the set's status, so that concurrent writes conflict.
//   - The garbage collector releases the pods before an orphaning deletion ends. It deletes pods whose
//     set was deleted in any other way.
//   - The CSI driver binds claims to volumes of one zone. It modifies and resizes in two turns,
//     with the states between them. The API server itself checks whether a class may expand.
//   - The kubelet ends pods that are deleted. It runs init containers for real, on folders: a
//     volume is a folder by its claim's UID. Then it starts the database, which accepts writes
//     while its pod is ready and checks at each start that its log has every write that it
//     acknowledged.
//
// What it leaves out: nodes that fail, the grace period, and pods that are evicted.
type Play struct {
	C        *kubeclient.Client
	Name     string
	Dir      string
	Provider string // of nodes and volumes
	Zone     string
	Nodes    string // prefix of the names of the pods' nodes
	// Log is the path of the engine's log in a container, and File the name of a file in it.
	Log, File string
	// Lost lists what a database was missing at a start, and Down the members that were down together.
	// Both must stay empty.
	Lost, Down []string
	// Restarts counts the starts of each pod's database.
	Restarts map[string]int
	// Infeasible is the VolumeAttributesClass that the driver refuses.
	Infeasible string
	// Full makes copies run out of space on their volume. It may change while the play continues.
	Full atomic.Bool

	acked map[string]string // by pod, what its database acknowledged
	logs  map[string]string // by pod, the path of its log
	n     int

	attempts int // runs of containers that failed
	// underway are the claims whose volumes the driver has begun to change.
	underway map[types.UID]bool
}

const ns = "db"

// Turn runs one round; it is called repeatedly.
func (p *Play) Turn(ctx context.Context) error {
	if p.acked == nil {
		p.acked, p.logs, p.Restarts, p.underway = map[string]string{}, map[string]string{}, map[string]int{},
			map[types.UID]bool{}
	}

	set, err := kubeclient.StatefulSets.Get(ctx, p.C, ns, p.Name)
	if err != nil && !kubeclient.IsMissing(err) {
		return err
	}

	pods, err2 := kubeclient.Pods.List(ctx, p.C, ns, "app="+p.Name)
	if err2 != nil {
		return err2
	}

	// A rollout changes the same objects. The real controllers also meet conflicts and missing
	// objects, and try again later.
	if err := p.collect(ctx, pods); err != nil && !kubeclient.IsConflict(err) && !kubeclient.IsMissing(err) {
		return fmt.Errorf("garbage collector: %w", err)
	}

	if err == nil {
		err := p.control(ctx, set, pods)
		if err != nil && !kubeclient.IsConflict(err) && !kubeclient.IsThere(err) && !kubeclient.IsMissing(err) {
			return fmt.Errorf("controller: %w", err)
		}
	}

	if err := p.drive(ctx); err != nil && !kubeclient.IsConflict(err) && !kubeclient.IsMissing(err) {
		return fmt.Errorf("driver: %w", err)
	}

	for i := range pods {
		err := p.kubelet(ctx, &pods[i])
		if err != nil && !kubeclient.IsConflict(err) && !kubeclient.IsMissing(err) {
			return fmt.Errorf("kubelet: %w", err)
		}
	}

	return nil
}

// control is a sync of the StatefulSet's controller, with OrderedReady: pkg/controller/statefulset,
// updateStatefulSet and processReplica.
func (p *Play) control(ctx context.Context, set *appsv1.StatefulSet, pods []corev1.Pod) error {
	if set.DeletionTimestamp != nil {
		return p.orphan(ctx, set, pods)
	}

	if err := p.report(ctx, set, pods); err != nil {
		return err
	}

	byName := map[string]*corev1.Pod{}
	for i := range pods {
		pod := &pods[i]
		byName[pod.Name] = pod
		// A set that was recreated adopts the pods that its predecessor left.
		if metav1.GetControllerOf(pod) == nil && pod.DeletionTimestamp == nil {
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set,
				appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
			if _, err := kubeclient.Pods.Update(ctx, p.C, ns, pod.Name, pod); err != nil {
				return err
			}
		}
	}

	for i := range int(*set.Spec.Replicas) {
		name := fmt.Sprintf("%s-%d", p.Name, i)
		pod := byName[name]
		if pod == nil {
			return p.create(ctx, set, name, i)
		}

		if pod.DeletionTimestamp != nil || !ready(pod) {
			return nil // it waits for this one first
		}

		for _, t := range set.Spec.VolumeClaimTemplates {
			if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == t.Name }) {
				return p.refused(ctx, pod, t.Name)
			}
		}
	}

	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}

	// A rolling update goes from the highest ordinal down, one pod per turn.
	for i := int(*set.Spec.Replicas) - 1; i >= 0; i-- {
		pod := byName[fmt.Sprintf("%s-%d", p.Name, i)]
		if pod.Labels[appsv1.StatefulSetRevisionLabel] != revision(set) {
			return kubeclient.Pods.Delete(ctx, p.C, ns, pod.Name, pod.UID, false)
		}
	}

	return nil
}

// refused tries to give an old pod a new claim, as the controller does. If the server accepts it, this
// play is not realistic.
func (p *Play) refused(ctx context.Context, pod *corev1.Pod, template string) error {
	pod.Spec.Volumes = append(pod.Spec.Volumes, claimVolume(template, template+"-"+pod.Name))
	if _, err := kubeclient.Pods.Update(ctx, p.C, ns, pod.Name, pod); err == nil {
		return errors.New("the server let a pod have another volume")
	}
	return nil
}

// collect deletes the pods whose set no longer exists, as the garbage collector does. It
// asks the server for each owner, because a set of the same name may be a different one.
func (p *Play) collect(ctx context.Context, pods []corev1.Pod) error {
	for i := range pods {
		pod := &pods[i]
		owner := metav1.GetControllerOf(pod)
		if owner == nil || pod.DeletionTimestamp != nil {
			continue
		}

		set, err := kubeclient.StatefulSets.Get(ctx, p.C, ns, owner.Name)
		if err != nil && !kubeclient.IsMissing(err) {
			return err
		}

		if err == nil && set.UID == owner.UID {
			continue
		}

		if err := kubeclient.Pods.Delete(ctx, p.C, ns, pod.Name, pod.UID, false); err != nil {
			return err
		}
	}
	return nil
}

// orphan releases a set's pods, as the garbage collector does, and then lets the set be deleted. It fails if
// the deletion would also delete the pods.
func (p *Play) orphan(ctx context.Context, set *appsv1.StatefulSet, pods []corev1.Pod) error {
	if !slices.Contains(set.Finalizers, metav1.FinalizerOrphanDependents) {
		return fmt.Errorf("the set is deleted with its pods: %q", set.Finalizers)
	}
	for i := range pods {
		if len(pods[i].OwnerReferences) > 0 {
			pods[i].OwnerReferences = nil
			if _, err := kubeclient.Pods.Update(ctx, p.C, ns, pods[i].Name, &pods[i]); err != nil {
				return err
			}
		}
	}
	set.Finalizers = nil
	_, err := kubeclient.StatefulSets.Update(ctx, p.C, ns, p.Name, set)
	return err
}

// report writes the set's status, if it changed.
func (p *Play) report(ctx context.Context, set *appsv1.StatefulSet, pods []corev1.Pod) error {
	is := appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: int32(len(pods)),
		UpdateRevision: revision(set)}
	for i := range pods {
		if ready(&pods[i]) {
			is.ReadyReplicas++
			is.AvailableReplicas++
		}
		if pods[i].Labels[appsv1.StatefulSetRevisionLabel] == is.UpdateRevision {
			is.UpdatedReplicas++
		}
	}

	if reflect.DeepEqual(set.Status, is) {
		return nil
	}

	set.Status = is
	written, err := kubeclient.StatefulSets.UpdateStatus(ctx, p.C, ns, p.Name, set)
	if err == nil {
		*set = *written
	}

	return err
}

// revision represents a template, as the controller's revisions do.
func revision(set *appsv1.StatefulSet) string {
	text, err := json.Marshal(set.Spec.Template)
	if err != nil {
		return "unreadable"
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:10]
}

func claimVolume(name, claim string) corev1.Volume {
	return corev1.Volume{Name: name,
		VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
}

// create makes a pod and the claims that it lacks.
func (p *Play) create(ctx context.Context, set *appsv1.StatefulSet, name string, ordinal int) error {
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(),
		Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Name, pod.Namespace = name, ns
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revision(set)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set,
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}

	for _, t := range set.Spec.VolumeClaimTemplates {
		claim := t.DeepCopy()
		claim.Name, claim.Namespace = fmt.Sprintf("%s-%s", t.Name, name), ns
		claim.Labels = maps.Clone(t.Labels)
		if _, err := kubeclient.Claims.Create(ctx, p.C, ns, claim, false); err != nil && !kubeclient.IsThere(err) {
			return err
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, claimVolume(t.Name, claim.Name))
	}

	// Stands in for the scheduler, which this play does not have.
	pod.Spec.NodeName = fmt.Sprintf("%s%d", p.Nodes, ordinal)
	_, err := kubeclient.Pods.Create(ctx, p.C, ns, pod, false)
	return err
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Go runs turns in the background until the test calls stop, which returns the first error.
func (p *Play) Go(t testing.TB) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if err := p.Turn(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("the play of %s: %v", p.Name, err)
				done <- err
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
		done <- nil
	}()

	return func() error {
		cancel()
		return <-done
	}
}
