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
	// StatefulSetBytesMax is its largest size: etcd accepts no object of more than 1.5 MiB.
	StatefulSetBytesMax = 2 << 20
	// replicasMax is more than any database has.
	replicasMax = 100
)

// A statefulSet is the one that runs the database, with the changes to it.
type statefulSet struct {
	l         *Layout
	manifest  *appsv1.StatefulSet
	container *corev1.Container
	data      string            // where the container has the data
	templates map[string]string // maps the engine's volumes to claim templates

	claims  []corev1.PersistentVolumeClaim // after the change
	changed bool                           // one of them changed
	mounts  []corev1.VolumeMount           // to add
	moving  bool                           // the log moves to one of them
}

// readStatefulSet finds the set, the engine's container and its claims in a manifest.
func readStatefulSet(l *Layout, o *Options) (*statefulSet, error) {
	const how = "kubectl get statefulset NAME -o yaml > statefulset.yaml writes one"
	name := o.StatefulSetFile
	if len(o.StatefulSet) > StatefulSetBytesMax {
		return nil, Inputf(how, "%s is longer than any StatefulSet (%d MiB)", name, StatefulSetBytesMax>>20)
	}

	s := &statefulSet{l: l, templates: map[string]string{}}
	reader := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(o.StatefulSet)))
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
				next = "a chart's template is no manifest yet: helm template, or " + how
			}
			return nil, Inputf(next, "%s is not YAML: %s", name, oneLine(err.Error()))
		}

		if kind.Kind != "StatefulSet" {
			continue
		}
		if s.manifest != nil {
			return nil, Inputf("give a file with one",
				"%s has two StatefulSets, and which one runs the database cannot be determined", name)
		}

		s.manifest = &appsv1.StatefulSet{}
		if err := yaml.Unmarshal(doc, s.manifest); err != nil {
			return nil, Inputf(how, "%s: the StatefulSet cannot be read: %s", name, oneLine(err.Error()))
		}
	}

	switch {
	case s.manifest == nil:
		return nil, Inputf(how, "there is no StatefulSet in %s", name)
	case s.manifest.APIVersion != "apps/v1":
		return nil, Inputf(how, "%s: the StatefulSet is of %q, not of apps/v1", name,
			oneLine(s.manifest.APIVersion))
	case !isName(s.manifest.Name) || s.manifest.Namespace != "" && !isName(s.manifest.Namespace):
		return nil, Inputf(how, "%s: the StatefulSet has no name that Kubernetes would take", name)
	case s.replicas() < 0 || s.replicas() > replicasMax:
		return nil, Inputf(how, "%s: %d replicas", name, s.replicas())
	}

	if err := s.findContainer(name, o.Container); err != nil {
		return nil, err
	}

	return s, s.findClaims(name, o.Claims)
}

// isName reports whether Kubernetes accepts a name (RFC 1123 subdomains): it appears in commands.
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
		return Inputf("--container names one of them", "the StatefulSet %s in %s has no container %q: %s",
			s.manifest.Name, file, asked, oneLine(among))
	case len(all) == 1:
		s.container = &all[0]
		return nil
	}

	return Inputf(
		"name it: --container NAME", "which container of the StatefulSet %s in %s is %s cannot be determined: %s",
		s.manifest.Name, file, s.l.engine(), oneLine(among))
}

// findClaims finds the templates of the existing volumes: by --claim, by name, or because there is
// only one.
func (s *statefulSet) findClaims(file string, asked map[string]string) error {
	s.claims = slices.Clone(s.manifest.Spec.VolumeClaimTemplates)
	var mounted []string

	at := map[string]string{}
	for _, c := range s.claims {
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
			return Inputf("", "--claim %s: the scenario has no volume of that name, it has %s", oneLine(volume),
				strings.Join(volumes, ", "))
		}
	}

	for _, v := range volumes {
		name := asked[v]
		switch {
		case name != "" && !slices.Contains(mounted, name):
			return Inputf("", "--claim %s=%s: container %s of %s mounts no claim template of that name, it mounts %s",
				v, oneLine(name), s.container.Name, file, orNone(mounted))
		case name != "":
		default:
			name = likely(v, volumes, mounted)
		}

		if name == "" && s.l.Changed("volumes."+v) {
			return Inputf("name it: --claim "+v+
				"=NAME", "which claim template of %s in %s is volume %s cannot be determined: container %s mounts %s",
				s.manifest.Name, file, v, s.container.Name, orNone(mounted))
		}
		if name != "" && !isName(name) {
			return Inputf("", "%s: a claim template has no name that Kubernetes would take", file)
		}

		s.templates[v] = name
		if v == "data" {
			s.data = at[name]
		}
	}

	return nil
}

// likely returns the claim template that probably belongs to a volume; "" if that is unclear.
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

// claim changes or adds the template of a disk. A single member's volume has none: a template
// applies to every member.
func (s *statefulSet) claim(d *disk) error {
	if d.member != 0 {
		return nil
	}

	size := resource.NewQuantity(d.after.gib*int64(units.GiB), resource.BinarySI)
	s.changed = true
	class := s.l.storageClassName(d)

	if d.fate == created {
		mount := s.mountOf(d)
		if s.has(d.volume, mount) {
			return Inputf(
				"add its present values under volumes in the scenario", "%s is new by the scenario, and container %s of the StatefulSet %s has a volume %s, or something at %s, already",
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
	if d.fate == remade || d.recached {
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

// mountOf returns where the container mounts an additional volume.
func (s *statefulSet) mountOf(d *disk) string {
	if s.moves(d) {
		return s.l.deployment.Log.Mount
	}
	return "/" + d.volume
}

// patch writes the changes to the set, and reports whether there are any.
func (s *statefulSet) patch(p *Part) (bool, error) {
	out := &appsv1.StatefulSet{
		TypeMeta:   s.manifest.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: s.manifest.Name, Namespace: s.manifest.Namespace},
	}

	container := corev1.Container{Name: s.container.Name, VolumeMounts: s.mounts}
	comments := s.memory(p, &container)
	pod := &out.Spec.Template.Spec

	if i := s.l.After.Instance(); i != nil && s.l.Changed("host.instance") {
		pod.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: i.Spelling()}
		comments = append(comments, s.l.Because("host.instance")+
			": such nodes must exist, or the pods stay pending.")
		p.Applies = append(p.Applies, "host.instance", "host.cores")
		p.Restarts = append(p.Restarts, "each pod moves to a node of type "+i.Spelling()+".")
	}

	if s.moving {
		pod.InitContainers = []corev1.Container{s.mover(podMove)}
		out.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	}

	if len(container.VolumeMounts) > 0 || len(container.Resources.Limits) > 0 {
		pod.Containers = []corev1.Container{container}
	}

	if len(pod.Containers) > 0 && !s.moving {
		p.Restarts = append(p.Restarts, "each pod of "+s.manifest.Name+
			", the last ordinal first (a rolling update), because its template changes.")
	}

	if members := s.l.setting(s.l.deployment.Members); s.l.deployment.Members != "" && s.l.Changed(members) {
		n := int32(s.l.After.MemberCount())
		out.Spec.Replicas = &n
		comments = append(comments, s.l.Because(members)+": "+s.l.deployment.MembersChange)
		p.Applies = append(p.Applies, members)
	}

	if s.changed {
		out.Spec.VolumeClaimTemplates = s.claims
	}

	if !s.changed && len(pod.Containers) == 0 && pod.NodeSelector == nil && out.Spec.Replicas == nil {
		return len(p.Files) > 0, nil
	}

	text, err := manifest(out)
	if err != nil {
		return false, err
	}

	text = replacing(text)
	for _, d := range s.l.disks {
		if d.fate != removed && d.member == 0 {
			comments = append(comments, d.why())
		}
	}

	const file = "kubernetes-patch/statefulset.yaml"
	if s.changed {
		comments = append(
			comments,
			"volumeClaimTemplates are immutable, and a patch replaces the whole list, so it contains all of them. README.md", "explains how to replace a StatefulSet without touching its pods and claims.")
	}

	head := s.l.Head("#", "A strategic merge patch of the StatefulSet "+s.manifest.Name+
		". It is not a manifest by itself.", comments...)
	p.Files = append(p.Files, File{Path: file, Text: []byte(head + text), Mode: plain})
	if s.moving {
		if err := s.back(p); err != nil {
			return false, err
		}
	}

	s.tell(p, file)
	return true, nil
}

// memory limits the container, if the scenario's memory is a container's and the memory or the
// cache changes.
func (s *statefulSet) memory(p *Part, c *corev1.Container) (comments []string) {
	l := s.l
	limit := l.After.Host.Memory
	ofMachine := l.After.Instance() != nil && limit >= l.After.Instance().Memory
	if ofMachine || !l.Changed("host.memory") {
		if beside := l.deployment.BesideCache; beside > 0 &&
			l.Before.Engine.Config.CacheSize() != l.After.Engine.Config.CacheSize() {
			cache := l.After.Engine.Config.CacheSize()
			if is, ok := s.container.Resources.Limits[corev1.ResourceMemory]; ok && is.Value() < int64(cache+beside) {
				p.Risks = append(p.Risks,
					fmt.Sprintf("Container %s is limited to %s of memory, but a cache of %s needs about %d GiB on top: it would be killed. Raise the limit (`host.memory` in the scenario).",
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
		" Request and limit are the same, so that no other pod can take it."}
}

// tell writes how to apply the patch, and how to undo it.
func (s *statefulSet) tell(p *Part, file string) {
	ns := ""
	if s.manifest.Namespace != "" {
		ns = " -n " + s.manifest.Namespace
	}

	name := s.manifest.Name
	for _, m := range s.mounts {
		if s.moving && m.Name == s.l.log {
			continue // a link leads to it
		}
		if tell := s.l.place(m.Name).Tell; tell != "" {
			p.Apply = append(p.Apply,
				fmt.Sprintf("In the container the volume %s is mounted at `%s`: configure %s accordingly (%s).",
					m.Name, m.MountPath, s.l.engine(), tell))
		}
	}

	if !s.changed {
		p.Apply = append(p.Apply, fmt.Sprintf("`kubectl%s patch statefulset %s --type strategic --patch-file %s`",
			ns, name, file))
		p.Back = append(p.Back, fmt.Sprintf("`kubectl%s rollout undo statefulset %s`.", ns, name))
		return
	}

	p.Apply = append(p.Apply,
		fmt.Sprintf(
			"The StatefulSet's claim templates cannot be changed, so it is replaced while its pods and claims stay (`--cascade=orphan`):\n\n"+
				"    kubectl%[1]s get statefulset %[2]s -o yaml > before.yaml &&\n"+
				"    kubectl%[1]s patch --local -f before.yaml --type strategic --patch-file %[3]s -o yaml > after.yaml &&\n"+
				"    sed 's/^  name: %[2]s$/  name: %[2]s-check/' after.yaml | kubectl%[1]s apply --dry-run=server -f - &&\n"+
				"    kubectl%[1]s delete statefulset %[2]s --cascade=orphan &&\n"+
				"    kubectl%[1]s apply -f after.yaml\n\n"+
				"The third line lets the server check the new one, under another name, and makes nothing; if it refuses, nothing was changed. The pods keep running as they are. An operator that owns the StatefulSet would undo this: change its own resource instead.",
			ns, name, file))

	if s.moving {
		s.tellMove(p, ns)
	}

	first := ""
	if s.moving {
		first = "Only when every pod has its log back: "
	}

	p.Back = append(p.Back,
		first+fmt.Sprintf("`kubectl%[1]s delete statefulset %[2]s --cascade=orphan && kubectl%[1]s apply -f before.yaml` replaces the StatefulSet again. The cluster then renews the pods by its own strategy. Claims that are no longer used stay until you delete them.",
			ns, name))
	p.Risks = append(
		p.Risks, "Between `delete --cascade=orphan` and `apply`, a pod that dies is not restarted. Run both in immediate succession.")
}
