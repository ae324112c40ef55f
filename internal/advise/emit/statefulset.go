package emit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/base/units"
)

// Bounds of a StatefulSet's manifest.
const (
	// StatefulSetBytesMax is the maximum size: etcd accepts no object of more than 1.5 MiB.
	StatefulSetBytesMax = 2 << 20
	// replicasMax exceeds the replicas of any database.
	replicasMax = 100
)

// A statefulSet is the StatefulSet that runs the database, with its changes.
type statefulSet struct {
	l         *Transition
	manifest  *appsv1.StatefulSet
	container *corev1.Container
	data      string            // the data's mount point in the container
	templates map[string]string // maps the engine's volumes to claim templates

	claims  []corev1.PersistentVolumeClaim // after the change
	changed bool                           // any of them changed
	mounts  []corev1.VolumeMount           // to add
	moving  bool                           // the log moves to one of the claims
}

// readStatefulSet finds the set, the engine's container and its claims in a manifest.
func readStatefulSet(l *Transition, options *Options) (*statefulSet, error) {
	const how = "create one with kubectl get statefulset NAME -o yaml > statefulset.yaml"
	name := options.StatefulSetFile
	if len(options.StatefulSet) > StatefulSetBytesMax {
		return nil, Inputf(how, "%s is longer than any StatefulSet (%d MiB)", name, StatefulSetBytesMax>>20)
	}

	s := &statefulSet{l: l, templates: map[string]string{}}

	// The file may contain other objects, separated by "---".
	reader := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(options.StatefulSet)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return nil, Inputf(how, "%s: %v", name, err)
		}

		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &kind); err != nil {
			next := how
			if bytes.Contains(doc, []byte("{{")) {
				next = "a chart's template is not a manifest yet: use helm template, or " + how
			}
			return nil, Inputf(next, "%s is not YAML: %s", name, oneLine(err.Error()))
		}

		if kind.Kind != "StatefulSet" {
			continue
		}
		if s.manifest != nil {
			return nil, Inputf("use a file with only one",
				"%s has two StatefulSets: cannot determine which one runs the database", name)
		}

		s.manifest = &appsv1.StatefulSet{}
		if err := yaml.Unmarshal(doc, s.manifest); err != nil {
			return nil, Inputf(how, "%s: cannot parse the StatefulSet: %s", name, oneLine(err.Error()))
		}
	}

	switch {
	case s.manifest == nil:
		return nil, Inputf(how, "no StatefulSet in %s", name)
	case s.manifest.APIVersion != "apps/v1":
		return nil, Inputf(how, "%s: the StatefulSet's apiVersion is %q, want apps/v1", name,
			oneLine(s.manifest.APIVersion))
	case !isName(s.manifest.Name) || s.manifest.Namespace != "" && !isName(s.manifest.Namespace):
		return nil, Inputf(how, "%s: the StatefulSet's name is not valid in Kubernetes", name)
	case s.replicas() < 0 || s.replicas() > replicasMax:
		return nil, Inputf(how, "%s: %d replicas out of range", name, s.replicas())
	}

	if err := s.findContainer(name, options.Container); err != nil {
		return nil, err
	}

	return s, s.findClaims(name, options.Claims)
}

// isName reports whether Kubernetes accepts a name (RFC 1123 subdomains). Names appear in commands, so
// they must not contain anything that a shell would interpret.
func isName(s string) bool {
	return s != "" && len(s) <= 253 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.'
	})
}

func (s *statefulSet) replicas() int {
	if s.manifest.Spec.Replicas == nil {
		return 1
	}
	return int(*s.manifest.Spec.Replicas)
}

func (s *statefulSet) findContainer(file, asked string) error {
	all := s.manifest.Spec.Template.Spec.Containers
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}

	among := "it has " + strings.Join(names, ", ")
	if len(names) == 0 {
		among = "it has none"
	}

	wanted := s.l.deployment.Containers
	if asked != "" {
		wanted = []string{asked}
	}

	for _, name := range wanted {
		if i := slices.Index(names, name); i >= 0 {
			s.container = &all[i]
			return nil
		}
	}

	switch {
	case asked != "":
		return Inputf("use --container to name one of them", "the StatefulSet %s in %s has no container %q: %s",
			s.manifest.Name, file, asked, oneLine(among))
	case len(all) == 1:
		s.container = &all[0]
		return nil
	}

	return Inputf(
		"name it: --container NAME", "cannot determine which container of the StatefulSet %s in %s runs %s: %s",
		s.manifest.Name, file, s.l.engine(), oneLine(among))
}

// findClaims finds the claim templates of the existing volumes: by --claim, by name, or because there is
// only one.
func (s *statefulSet) findClaims(file string, asked map[string]string) error {
	s.claims = slices.Clone(s.manifest.Spec.VolumeClaimTemplates)
	var mounted []string

	at := map[string]string{}
	for _, c := range s.claims {
		// A mount with a subPath shows only a part of the volume, so it cannot identify the volume.
		for _, m := range s.container.VolumeMounts {
			if m.Name == c.Name && m.SubPath == "" {
				mounted = append(mounted, c.Name)
				at[c.Name] = m.MountPath
			}
		}
	}

	volumes := names(s.l.Before.Volumes)
	for volume := range asked {
		if !slices.Contains(volumes, volume) {
			return Inputf("", "--claim %s: the scenario has no volume of that name, only %s", oneLine(volume),
				strings.Join(volumes, ", "))
		}
	}

	for _, v := range volumes {
		name := asked[v]
		switch {
		case name != "" && !slices.Contains(mounted, name):
			return Inputf("", "--claim %s=%s: container %s of %s mounts no claim template of that name, only %s",
				v, oneLine(name), s.container.Name, file, orNone(mounted))
		case name != "":
		default:
			name = likely(v, volumes, mounted)
		}

		// An unidentified volume only matters if it changes.
		if name == "" && s.l.Changed("volumes."+v) {
			return Inputf("name it: --claim "+v+
				"=NAME", "cannot determine the claim template of volume %[3]s in the StatefulSet %[1]s of %[2]s: container %[4]s mounts %[5]s",
				s.manifest.Name, file, v, s.container.Name, orNone(mounted))
		}
		if name != "" && !isName(name) {
			return Inputf("", "%s: a claim template's name is not valid in Kubernetes", file)
		}

		s.templates[v] = name
		if v == "data" {
			s.data = at[name]
		}
	}

	return nil
}

// likely returns the claim template that probably belongs to a volume; "" if it is ambiguous. It tries
// the strictest rule first.
func likely(volume string, volumes, mounted []string) string {
	for _, fits := range []func(string) bool{
		func(n string) bool { return n == volume },
		func(n string) bool { return strings.HasPrefix(n, volume+"-") || strings.HasSuffix(n, "-"+volume) },
		func(n string) bool { return len(mounted) == 1 && len(volumes) == 1 },
		func(n string) bool { return volume == "data" && strings.Contains(n, "data") },
	} {
		var found []string
		for _, n := range mounted {
			if fits(n) {
				found = append(found, n)
			}
		}

		if len(found) == 1 {
			return found[0]
		}
	}

	return ""
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return oneLine(strings.Join(names, ", "))
}

// claim changes or adds the claim template of a disk. A volume of a single member has none, because a
// template applies to every member.
func (s *statefulSet) claim(d *disk) error {
	if d.member != 0 {
		return nil
	}

	size := resource.NewQuantity(d.after.gib*int64(units.GiB), resource.BinarySI)
	s.changed = true
	class := s.l.storageClassName(d)

	if d.action == created {
		mount := s.mountOf(d)
		if s.has(d.volume, mount) {
			return Inputf(
				"add its current values under volumes in the scenario", "%s is new in the scenario, but container %s of the StatefulSet %s already has a volume %s or something mounted at %s",
				d.path, s.container.Name, s.manifest.Name, d.volume, oneLine(mount))
		}

		s.claims = append(s.claims, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: d.volume},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				StorageClassName: &class,
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceStorage: *size,
				}},
			},
		})

		s.mounts = append(s.mounts, corev1.VolumeMount{Name: d.volume, MountPath: mount})
		s.moving = s.moving || s.moves(d)
		return nil
	}

	i := slices.IndexFunc(s.claims,
		func(c corev1.PersistentVolumeClaim) bool { return c.Name == s.templates[d.volume] })
	if i < 0 {
		return nil
	}

	c := s.claims[i].DeepCopy()
	if c.Spec.Resources.Requests == nil {
		c.Spec.Resources.Requests = corev1.ResourceList{}
	}

	c.Spec.Resources.Requests[corev1.ResourceStorage] = *size

	// New claims are required in both cases, and they get the new class.
	if d.action == remade || d.recached {
		c.Spec.StorageClassName = &class
	}

	if d.tuned {
		attributes := s.l.className(d, d.after)
		c.Spec.VolumeAttributesClassName = &attributes
	}

	s.claims[i] = *c
	return nil
}

// has reports whether the set has a volume of this name, or the container a mount at this path.
func (s *statefulSet) has(name, mount string) bool {
	return slices.ContainsFunc(s.claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == name }) ||
		slices.ContainsFunc(s.manifest.Spec.Template.Spec.Volumes,
			func(v corev1.Volume) bool { return v.Name == name }) ||
		slices.ContainsFunc(s.container.VolumeMounts,
			func(m corev1.VolumeMount) bool { return path.Clean(m.MountPath) == mount })
}

// mountOf returns the mount point of an additional volume in the container.
func (s *statefulSet) mountOf(d *disk) string {
	if s.moves(d) {
		return s.l.deployment.Log.Mount
	}
	return "/" + d.volume
}

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
