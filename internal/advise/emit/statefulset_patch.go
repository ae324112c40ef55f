package emit

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/base/units"
)

// patch writes the changes to the set, and reports whether there are any.
func (s *statefulSet) patch(part *Part) (bool, error) {
	out := &appsv1.StatefulSet{
		TypeMeta:   s.manifest.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: s.manifest.Name, Namespace: s.manifest.Namespace},
	}

	container := corev1.Container{Name: s.container.Name, VolumeMounts: s.mounts}
	comments := s.memory(part, &container)
	pod := &out.Spec.Template.Spec

	if i := s.l.After.Instance(); i != nil && s.l.Changed("host.instance") {
		pod.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: i.Spelling()}
		comments = append(comments, s.l.Because("host.instance")+
			": nodes of this type must exist, or the pods stay pending.")
		part.Applies = append(part.Applies, "host.instance", "host.cores")
		part.Restarts = append(part.Restarts, "each pod moves to a node of type "+i.Spelling()+".")
	}

	if s.moving {
		pod.InitContainers = []corev1.Container{s.mover(podMove)}
		out.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	}

	if len(container.VolumeMounts) > 0 || len(container.Resources.Limits) > 0 {
		pod.Containers = []corev1.Container{container}
	}

	if len(pod.Containers) > 0 && !s.moving {
		part.Restarts = append(part.Restarts, "each pod of "+s.manifest.Name+
			", starting with the highest ordinal (a rolling update), because its template changes.")
	}

	if members := s.l.setting(s.l.deployment.Members); s.l.deployment.Members != "" && s.l.Changed(members) {
		n := int32(s.l.After.MemberCount())
		out.Spec.Replicas = &n
		comments = append(comments, s.l.Because(members)+": "+s.l.deployment.MembersChange)
		part.Applies = append(part.Applies, members)
	}

	// A merge patch would drop the other templates.
	if s.changed {
		out.Spec.VolumeClaimTemplates = s.claims
	}

	if !s.changed && len(pod.Containers) == 0 && pod.NodeSelector == nil && out.Spec.Replicas == nil {
		return len(part.Files) > 0, nil
	}

	text, err := manifest(out)
	if err != nil {
		return false, err
	}

	text = replacing(text)
	for _, d := range s.l.disks {
		if d.action != removed && d.member == 0 {
			comments = append(comments, d.why())
		}
	}

	const file = "kubernetes-patch/statefulset.yaml"
	if s.changed {
		comments = append(
			comments,
			"volumeClaimTemplates are immutable, and a patch replaces the whole list, so it contains all of them. README.md", "explains how to replace a StatefulSet without affecting its pods and claims.")
	}

	head := s.l.Head("#", "A strategic merge patch of the StatefulSet "+s.manifest.Name+
		". It is not a complete manifest.", comments...)
	part.Files = append(part.Files, File{Path: file, Text: []byte(head + text), Mode: plain})
	if s.moving {
		if err := s.back(part); err != nil {
			return false, err
		}
	}

	s.describe(part, file)
	return true, nil
}

// memory sets the container's memory limit, if the scenario's memory is a container's and it changes. If
// only the cache changes, it warns if the cache does not fit the limit.
func (s *statefulSet) memory(p *Part, c *corev1.Container) (comments []string) {
	l := s.l
	limit := l.After.Host.Memory

	// A scenario with as much memory as the machine has no container limit.
	ofMachine := l.After.Instance() != nil && limit >= l.After.Instance().Memory
	if ofMachine || !l.Changed("host.memory") {
		if beside := l.deployment.BesideCache; beside > 0 &&
			l.Before.Engine.Config.CacheSize() != l.After.Engine.Config.CacheSize() {
			cache := l.After.Engine.Config.CacheSize()
			if is, ok := s.container.Resources.Limits[corev1.ResourceMemory]; ok && is.Value() < int64(cache+beside) {
				p.Risks = append(p.Risks,
					fmt.Sprintf("Container %s is limited to %s of memory, but with a cache of %s the engine needs about %d GiB in addition: it would be killed. Raise the limit (`host.memory` in the scenario).",
						s.container.Name, is.String(), cache.Exact(), beside/units.GiB))
			}
		}
		return nil
	}

	q := *resource.NewQuantity(int64(limit), resource.BinarySI)
	c.Resources = corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceMemory: q},
		Requests: corev1.ResourceList{corev1.ResourceMemory: q},
	}

	p.Applies = append(p.Applies, "host.memory")
	return []string{l.Because("host.memory"), l.why("host.memory") +
		" Request and limit are equal, so that no other pod can use the memory."}
}

// describe writes how to apply the patch, and how to undo it.
func (s *statefulSet) describe(part *Part, file string) {
	ns := ""
	if s.manifest.Namespace != "" {
		ns = " -n " + s.manifest.Namespace
	}

	name := s.manifest.Name
	for _, m := range s.mounts {
		if s.moving && m.Name == s.l.log {
			continue // the link leads to it, so the engine needs no configuration
		}
		if how := s.l.place(m.Name).Configure; how != "" {
			part.Apply = append(part.Apply,
				fmt.Sprintf("In the container the volume %s is mounted at `%s`: configure %s accordingly (%s).",
					m.Name, m.MountPath, s.l.engine(), how))
		}
	}

	if !s.changed {
		saved := "~/plimsoll-" + name + "-revision.before"
		part.Apply = append(part.Apply, fmt.Sprintf(
			"The first line saves the StatefulSet's present revision, once; the second changes its template:\n\n"+
				"    F=%[4]s; test -s \"$F\" || { kubectl%[1]s get controllerrevision \"$(kubectl%[1]s get statefulset %[2]s -o jsonpath='{.status.updateRevision}')\" -o jsonpath='{.revision}' > \"$F.new\" && mv \"$F.new\" \"$F\"; }; cat \"$F\"\n"+
				"    cat %[4]s && kubectl%[1]s patch statefulset %[2]s --type strategic --patch-file %[3]s",
			ns, name, file, saved))
		part.Back = append(part.Back, fmt.Sprintf(
			"This restores the template of the saved revision, whatever was rolled out since:\n\n"+
				"    kubectl%[1]s rollout undo statefulset %[2]s --to-revision=\"$(cat %[3]s)\" && rm %[3]s",
			ns, name, saved))
		return
	}

	part.Apply = append(part.Apply,
		fmt.Sprintf(
			"The StatefulSet's claim templates are immutable, so replace it and keep its pods and claims (`--cascade=orphan`):\n\n"+
				"    { test -s before.yaml || { kubectl%[1]s get statefulset %[2]s -o yaml > before.new && mv before.new before.yaml; }; } &&\n"+
				"    kubectl%[1]s get statefulset %[2]s -o yaml > now.yaml &&\n"+
				"    kubectl%[1]s patch --local -f now.yaml --type strategic --patch-file %[3]s -o yaml > after.yaml &&\n"+
				"    sed 's/^  name: %[2]s$/  name: %[2]s-check/' after.yaml | kubectl%[1]s apply --dry-run=server -f - &&\n"+
				"    kubectl%[1]s delete statefulset %[2]s --cascade=orphan &&\n"+
				"    kubectl%[1]s apply -f after.yaml\n\n"+
				"The first line saves the present StatefulSet, once. The line with `--dry-run=server` makes the server validate the new one under another name, without creating it; if that fails, nothing was changed. The pods keep running. If only the last line fails, run that line again. If an operator owns the StatefulSet, it would revert this: change the operator's resource instead.",
			ns, name, file))

	if s.moving {
		s.describeMove(part, ns)
	}

	first := "Last, "
	if s.moving {
		first = "Only after the logs of all pods have moved back, "
	}

	part.Back = append(part.Back,
		first+fmt.Sprintf("restore the StatefulSet:\n\n"+
			"    test -s before.yaml && kubectl%[1]s delete statefulset %[2]s --cascade=orphan --ignore-not-found &&\n"+
			"    kubectl%[1]s apply -f before.yaml && rm before.yaml\n\n"+
			"The cluster then recreates the pods according to its update strategy. Unused claims stay until you delete them.",
			ns, name))
	part.Risks = append(
		part.Risks, "Between `delete --cascade=orphan` and `apply`, the cluster does not recreate a pod that dies. Run both in immediate succession.")
}
