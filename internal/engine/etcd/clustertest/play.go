//go:build linux

package clustertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/record/cluster"
)

// A Play does the part of the StatefulSet's controller, of the garbage collector, of the scheduler,
// the CSI driver and the kubelet, for one StatefulSet. Each call of [Play.Turn] does what they would
// do next.
//
// A volume is a folder, by its claim's UID. The kubelet runs the init container that moves logs for
// real, on these folders, and "starts" the database, which fails unless its log has every write that
// was acknowledged.
type Play struct {
	C        *cluster.Client
	Name     string
	Dir      string
	Provider string // of nodes and volumes
	Zone     string
	Nodes    string // what the names of the pods' nodes begin with
	// Log is where the engine has its log in a container, and File what a file of it is called.
	Log, File string
	// Lost is what the database missed at a start; it must stay empty.
	Lost []string
	// Restarts counts the starts of each pod's database.
	Restarts map[string]int
	// Undriven stops the driver: no claim is bound or changed.
	Undriven bool

	acked map[string]string // by pod, what its database acknowledged
	logs  map[string]string // by pod, the path of its log
	n     int
}

const ns = "db"

// Turn does one round. It is called again and again.
func (p *Play) Turn(ctx context.Context) error {
	if p.acked == nil {
		p.acked, p.logs, p.Restarts = map[string]string{}, map[string]string{}, map[string]int{}
	}
	set, err := cluster.StatefulSets.Get(ctx, p.C, ns, p.Name)
	if err != nil && !cluster.IsMissing(err) {
		return err
	}
	pods, err2 := cluster.Pods.List(ctx, p.C, ns, "app="+p.Name)
	if err2 != nil {
		return err2
	}
	if err == nil {
		if err := p.control(ctx, set, pods); err != nil && !cluster.IsConflict(err) && !cluster.IsThere(err) && !cluster.IsMissing(err) {
			return fmt.Errorf("controller: %w", err)
		}
	}
	if err := p.drive(ctx); err != nil && !cluster.IsConflict(err) {
		return fmt.Errorf("driver: %w", err)
	}
	for i := range pods {
		if err := p.kubelet(ctx, &pods[i]); err != nil && !cluster.IsConflict(err) && !cluster.IsMissing(err) {
			return fmt.Errorf("kubelet: %w", err)
		}
	}
	return nil
}

// control is a sync of the StatefulSet's controller, with OrderedReady: pkg/controller/statefulset,
// updateStatefulSet and processReplica.
func (p *Play) control(ctx context.Context, set *appsv1.StatefulSet, pods []corev1.Pod) error {
	if set.DeletionTimestamp != nil { // the garbage collector lets the pods go
		for i := range pods {
			if len(pods[i].OwnerReferences) > 0 {
				pods[i].OwnerReferences = nil
				if _, err := cluster.Pods.Update(ctx, p.C, ns, pods[i].Name, &pods[i]); err != nil {
					return err
				}
			}
		}
		set.Finalizers = nil
		_, err := cluster.StatefulSets.Update(ctx, p.C, ns, p.Name, set)
		return err
	}
	byName := map[string]*corev1.Pod{}
	for i := range pods {
		pod := &pods[i]
		byName[pod.Name] = pod
		if metav1.GetControllerOf(pod) == nil && pod.DeletionTimestamp == nil {
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
			if _, err := cluster.Pods.Update(ctx, p.C, ns, pod.Name, pod); err != nil {
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
	for i := int(*set.Spec.Replicas) - 1; i >= 0; i-- {
		pod := byName[fmt.Sprintf("%s-%d", p.Name, i)]
		if pod.Annotations["revision"] != revision(set) {
			return cluster.Pods.Delete(ctx, p.C, ns, pod.Name, pod.UID, false)
		}
	}
	return nil
}

// refused tries to give an old pod a new claim, as the controller does: the server must refuse it,
// or this play is not what happens.
func (p *Play) refused(ctx context.Context, pod *corev1.Pod, template string) error {
	pod.Spec.Volumes = append(pod.Spec.Volumes, claimVolume(template, template+"-"+pod.Name))
	if _, err := cluster.Pods.Update(ctx, p.C, ns, pod.Name, pod); err == nil {
		return errors.New("the server let a pod have another volume")
	}
	return nil
}

// revision stands for a template, as the controller's revisions do.
func revision(set *appsv1.StatefulSet) string {
	text, err := json.Marshal(set.Spec.Template)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x", len(text)) + fmt.Sprint(len(set.Spec.Template.Spec.InitContainers)) + strings.ReplaceAll(fmt.Sprint(set.Spec.Template.Spec.Containers[0].Resources.Limits.Memory()), " ", "")
}

func claimVolume(name, claim string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
}

// create makes a pod and the claims that it lacks.
func (p *Play) create(ctx context.Context, set *appsv1.StatefulSet, name string, ordinal int) error {
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Name, pod.Namespace = name, ns
	pod.Annotations = map[string]string{"revision": revision(set)}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	for _, t := range set.Spec.VolumeClaimTemplates {
		claim := t.DeepCopy()
		claim.Name, claim.Namespace = fmt.Sprintf("%s-%s", t.Name, name), ns
		claim.Labels = maps.Clone(t.Labels)
		if _, err := cluster.Claims.Create(ctx, p.C, ns, claim, false); err != nil && !cluster.IsThere(err) {
			return err
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, claimVolume(t.Name, claim.Name))
	}
	pod.Spec.NodeName = fmt.Sprintf("%s%d", p.Nodes, ordinal)
	_, err := cluster.Pods.Create(ctx, p.C, ns, pod, false)
	return err
}

// drive is the CSI driver with its provisioner and resizer.
func (p *Play) drive(ctx context.Context) error {
	if p.Undriven {
		return nil
	}
	claims, err := cluster.Claims.List(ctx, p.C, ns, "")
	if err != nil {
		return err
	}
	for i := range claims {
		c := &claims[i]
		size := c.Spec.Resources.Requests[corev1.ResourceStorage]
		if c.Spec.VolumeName == "" {
			if c, err = p.provision(ctx, c, size); err != nil {
				return err
			}
		}
		want := corev1.PersistentVolumeClaimStatus{
			Phase: corev1.ClaimBound, AccessModes: c.Spec.AccessModes, Capacity: corev1.ResourceList{corev1.ResourceStorage: size},
			CurrentVolumeAttributesClassName: c.Spec.VolumeAttributesClassName,
		}
		has := c.Status.Capacity[corev1.ResourceStorage]
		if c.Status.Phase == want.Phase && has.Cmp(size) == 0 && value(c.Status.CurrentVolumeAttributesClassName) == value(want.CurrentVolumeAttributesClassName) {
			continue
		}
		c.Status = want
		if _, err := cluster.Claims.UpdateStatus(ctx, p.C, ns, c.Name, c); err != nil {
			return err
		}
	}
	return nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// provision makes a volume and binds the claim to it.
func (p *Play) provision(ctx context.Context, c *corev1.PersistentVolumeClaim, size resource.Quantity) (*corev1.PersistentVolumeClaim, error) {
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(c.UID)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: size}, AccessModes: c.Spec.AccessModes, StorageClassName: value(c.Spec.StorageClassName),
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, VolumeAttributesClassName: c.Spec.VolumeAttributesClassName,
			ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: ns, Name: c.Name, UID: c.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: p.Provider, VolumeHandle: "vol-" + c.Name, FSType: "xfs"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{p.Zone}}},
			}}}},
		},
	}
	if _, err := cluster.Volumes.Create(ctx, p.C, "", pv, false); err != nil && !cluster.IsThere(err) {
		return nil, err
	}
	c.Spec.VolumeName = pv.Name
	return cluster.Claims.Update(ctx, p.C, ns, c.Name, c)
}

// kubelet starts and stops a pod.
func (p *Play) kubelet(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return Now(ctx, p.C, pod)
	}
	if ready(pod) {
		p.write(pod)
		return nil
	}
	folders := map[string]string{} // of the mounts
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, err := cluster.Claims.Get(ctx, p.C, ns, v.PersistentVolumeClaim.ClaimName)
		if err != nil || claim.Status.Phase != corev1.ClaimBound {
			return err
		}
		folders[v.Name] = filepath.Join(p.Dir, string(claim.UID))
		if err := os.MkdirAll(folders[v.Name], 0o700); err != nil {
			return err
		}
	}
	status := pod.Status.DeepCopy()
	status.Phase = corev1.PodRunning
	status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	for i := range pod.Spec.InitContainers {
		if code, out := p.run(&pod.Spec.InitContainers[i], folders); code != 0 {
			status.Phase = corev1.PodPending
			status.Conditions[0].Status, status.Conditions[0].Message = corev1.ConditionFalse, out
			status.InitContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.InitContainers[i].Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code)}}}}
			break
		}
	}
	if status.Phase == corev1.PodRunning {
		p.begin(pod, folders)
	}
	pod.Status = *status
	_, err := cluster.Pods.UpdateStatus(ctx, p.C, ns, pod.Name, pod)
	return err
}

// Now removes a pod that is being deleted, as a kubelet does when its containers have ended.
func Now(ctx context.Context, c *cluster.Client, pod *corev1.Pod) error {
	return cluster.Pods.DeleteNow(ctx, c, ns, pod.Name, pod.UID)
}

// on is a path of a container on this machine.
func on(c *corev1.Container, folders map[string]string, path string) string {
	best := ""
	out := ""
	for _, m := range c.VolumeMounts {
		if rest, ok := strings.CutPrefix(path, m.MountPath); ok && len(m.MountPath) > len(best) && folders[m.Name] != "" {
			best, out = m.MountPath, filepath.Join(folders[m.Name], rest)
		}
	}
	return out
}

// run runs an init container's script on the folders of its volumes. A link in them leads to a path of
// this machine, as one in a container leads to a path of the container.
func (p *Play) run(c *corev1.Container, folders map[string]string) (code int, out string) {
	args := slices.Clone(c.Command)
	for i := 4; i < len(args); i++ {
		if strings.HasPrefix(args[i], "/") {
			args[i] = on(c, folders, args[i])
		}
	}
	text, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, ""
	case errors.As(err, &exit):
		return exit.ExitCode(), string(text)
	}
	return -1, err.Error()
}

// begin starts a pod's database on the log that its path leads to.
func (p *Play) begin(pod *corev1.Pod, folders map[string]string) {
	p.Restarts[pod.Name]++
	log := on(&pod.Spec.Containers[0], folders, p.Log)
	if log == "" {
		return // a database that no test starts
	}
	text, err := os.ReadFile(filepath.Join(log, p.File))
	switch {
	case p.acked[pod.Name] == "": // a new member
		if err := errors.Join(os.MkdirAll(log, 0o700), os.WriteFile(filepath.Join(filepath.Dir(log), "database"), []byte("db"), 0o600)); err != nil {
			p.Lost = append(p.Lost, err.Error())
		}
	case err != nil || string(text) != p.acked[pod.Name]:
		p.Lost = append(p.Lost, fmt.Sprintf("%s started on %q (%v), and %q was acknowledged", pod.Name, text, err, p.acked[pod.Name]))
	}
	p.logs[pod.Name] = log
	p.write(pod)
}

// write is a write that a pod's database acknowledges.
func (p *Play) write(pod *corev1.Pod) {
	log := p.logs[pod.Name]
	if log == "" {
		return
	}
	p.n++
	text := fmt.Sprintf("%d ", p.n)
	f, err := os.OpenFile(filepath.Join(log, p.File), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		p.Lost = append(p.Lost, err.Error())
		return
	}
	p.acked[pod.Name] += text
}

// LogOf is where a pod's database has its log now: the folder, links followed.
func (p *Play) LogOf(pod string) string {
	path, err := filepath.EvalSymlinks(p.logs[pod])
	if err != nil {
		return err.Error()
	}
	return path
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Go plays until the test says stop, and returns the first error.
func (p *Play) Go(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if err := p.Turn(ctx); err != nil && ctx.Err() == nil {
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
