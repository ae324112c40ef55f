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
	// StatefulSetBytesMax is the most it may have: etcd takes no object of more than 1.5 MiB.
	StatefulSetBytesMax = 2 << 20
	// replicasMax is over what any database has.
	replicasMax = 100
)

// A statefulSet is the one that runs the database, and what becomes of it.
type statefulSet struct {
	l         *Layout
	manifest  *appsv1.StatefulSet
	container *corev1.Container
	data      string            // where the container has the database
	templates map[string]string // the engine's volumes to claim templates

	claims  []corev1.PersistentVolumeClaim // as they are to be
	changed bool                           // one of them
	mounts  []corev1.VolumeMount           // to add
}

// readStatefulSet finds the set, the engine's container and its claims in a manifest.
func readStatefulSet(l *Layout, o *Options) (*statefulSet, error) {
	const how = "kubectl get statefulset NAME -o yaml > statefulset.yaml writes one"
	name := o.StatefulSetFile
	if len(o.StatefulSet) > StatefulSetBytesMax {
		return nil, inputf(how, "%s is longer than any StatefulSet (%d MiB)", name, StatefulSetBytesMax>>20)
	}
	s := &statefulSet{l: l, templates: map[string]string{}}
	reader := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(o.StatefulSet)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, inputf(how, "%s: %v", name, err)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &kind); err != nil {
			next := how
			if bytes.Contains(doc, []byte("{{")) {
				next = "a chart's template is no manifest yet: helm template, or " + how
			}
			return nil, inputf(next, "%s is no YAML: %s", name, oneLine(err.Error()))
		}
		if kind.Kind != "StatefulSet" {
			continue
		}
		if s.manifest != nil {
			return nil, inputf("give a file with one", "%s has two StatefulSets, which of them runs the database cannot be told", name)
		}
		s.manifest = &appsv1.StatefulSet{}
		if err := yaml.Unmarshal(doc, s.manifest); err != nil {
			return nil, inputf(how, "%s: the StatefulSet cannot be read: %s", name, oneLine(err.Error()))
		}
	}
	switch {
	case s.manifest == nil:
		return nil, inputf(how, "there is no StatefulSet in %s", name)
	case s.manifest.APIVersion != "apps/v1":
		return nil, inputf(how, "%s: the StatefulSet is of %q, not of apps/v1", name, oneLine(s.manifest.APIVersion))
	case !isName(s.manifest.Name) || s.manifest.Namespace != "" && !isName(s.manifest.Namespace):
		return nil, inputf(how, "%s: the StatefulSet has no name that Kubernetes would take", name)
	case s.replicas() < 0 || s.replicas() > replicasMax:
		return nil, inputf(how, "%s: %d replicas", name, s.replicas())
	}
	if err := s.findContainer(name, o.Container); err != nil {
		return nil, err
	}
	return s, s.findClaims(name, o.Claims)
}

// isName tells names that Kubernetes takes (RFC 1123 subdomains): they stand in commands.
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

// containerNames are what the engines' containers are usually called.
var containerNames = map[string][]string{
	"wiredtiger": {"mongod", "mongodb", "mongo", "psmdb"},
	"etcd":       {"etcd"},
	"postgres":   {"postgres", "postgresql", "database"},
	"iris":       {"iris"},
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
	wanted := containerNames[s.l.After.Engine.Name()]
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
		return inputf("--container names one of them", "the StatefulSet %s in %s has no container %q: %s", s.manifest.Name, file, asked, oneLine(among))
	case len(all) == 1:
		s.container = &all[0]
		return nil
	}
	return inputf("name it: --container NAME", "which container of the StatefulSet %s in %s is %s cannot be told: %s", s.manifest.Name, file, s.l.After.Engine.Name(), oneLine(among))
}

// findClaims finds the templates of the volumes that there are: by --claim, by name, or because there is one only.
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
			return inputf("", "--claim %s: the scenario has no volume of that name, it has %s", oneLine(volume), strings.Join(volumes, ", "))
		}
	}
	for _, v := range volumes {
		name := asked[v]
		switch {
		case name != "" && !slices.Contains(mounted, name):
			return inputf("", "--claim %s=%s: container %s of %s mounts no claim template of that name, it mounts %s", v, oneLine(name), s.container.Name, file, orNone(mounted))
		case name != "":
		default:
			name = likely(v, volumes, mounted)
		}
		if name == "" && s.l.changed("volumes."+v) {
			return inputf("name it: --claim "+v+"=NAME", "which claim template of %s in %s is volume %s cannot be told: container %s mounts %s", s.manifest.Name, file, v, s.container.Name, orNone(mounted))
		}
		if name != "" && !isName(name) {
			return inputf("", "%s: a claim template has no name that Kubernetes would take", file)
		}
		s.templates[v] = name
		if v == "data" {
			s.data = at[name]
		}
	}
	return nil
}

// likely is the claim template that a volume probably is; "" if that cannot be told.
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

// claim changes or adds the template of a disk. A member's own volume has none: a template is every member's.
func (s *statefulSet) claim(d *disk) error {
	if d.member != 0 {
		return nil
	}
	size := resource.NewQuantity(d.after.gib*int64(units.GiB), resource.BinarySI)
	s.changed = true
	class := s.l.className(d, d.after, d.after.fs)
	if d.fate == created {
		mount := s.mountOf(d.volume)
		if s.has(d.volume, mount) {
			return inputf("put it under volumes in the scenario, so that what it is now is known", "%s is new by the scenario, and container %s of the StatefulSet %s has a volume %s, or something at %s, already",
				d.path, s.container.Name, s.manifest.Name, d.volume, oneLine(mount))
		}
		s.claims = append(s.claims, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: d.volume},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				StorageClassName: &class,
				Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: *size}},
			},
		})
		s.mounts = append(s.mounts, corev1.VolumeMount{Name: d.volume, MountPath: mount})
		return nil
	}
	i := slices.IndexFunc(s.claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == s.templates[d.volume] })
	if i < 0 {
		return nil
	}
	c := s.claims[i].DeepCopy()
	if c.Spec.Resources.Requests == nil {
		c.Spec.Resources.Requests = corev1.ResourceList{}
	}
	c.Spec.Resources.Requests[corev1.ResourceStorage] = *size
	if d.fate == remade {
		c.Spec.StorageClassName = &class
	}
	if d.tuned {
		attributes := s.l.className(d, d.after)
		c.Spec.VolumeAttributesClassName = &attributes
	}
	s.claims[i] = *c
	return nil
}

// has tells whether the set has a volume of a name, or the container something mounted at a path.
func (s *statefulSet) has(name, mount string) bool {
	return slices.ContainsFunc(s.claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == name }) ||
		slices.ContainsFunc(s.manifest.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name }) ||
		slices.ContainsFunc(s.container.VolumeMounts, func(m corev1.VolumeMount) bool { return path.Clean(m.MountPath) == mount })
}

// mountOf is where a further volume goes in the container: WiredTiger's journal into its dbPath, others beside it.
func (s *statefulSet) mountOf(volume string) string {
	if s.l.After.Engine.WiredTiger != nil && volume == "journal" {
		return path.Join(s.dbPath(), "journal")
	}
	return "/" + volume
}

// dbPath is mongod's, as its arguments say, or where its volume is mounted.
func (s *statefulSet) dbPath() string {
	args := append(slices.Clone(s.container.Command), s.container.Args...)
	for i, arg := range args {
		if v, ok := strings.CutPrefix(arg, "--dbpath="); ok {
			return v
		}
		if arg == "--dbpath" && i+1 < len(args) {
			return args[i+1]
		}
	}
	if s.data == "" {
		return "/data/db"
	}
	return s.data
}

// patch writes what changes of the set, and tells whether anything does.
func (s *statefulSet) patch(p *part) (bool, error) {
	out := &appsv1.StatefulSet{
		TypeMeta:   s.manifest.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: s.manifest.Name, Namespace: s.manifest.Namespace},
	}
	container := corev1.Container{Name: s.container.Name, VolumeMounts: s.mounts}
	comments := s.memory(p, &container)
	pod := &out.Spec.Template.Spec
	if i := s.l.After.Instance(); i != nil && s.l.changed("host.instance") {
		pod.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: i.Name}
		comments = append(comments, s.l.because("host.instance")+": the nodes must be there, or the pods stay pending.")
		p.applies = append(p.applies, "host.instance", "host.cores")
		p.restarts = append(p.restarts, "each pod: it moves to a node of type "+i.Name+".")
	}
	if len(container.VolumeMounts) > 0 || len(container.Resources.Limits) > 0 {
		pod.Containers = []corev1.Container{container}
		p.restarts = append(p.restarts, "each pod of "+s.manifest.Name+", the last ordinal first (a rolling update), since its template changes.")
	}
	if e := s.l.After.Engine.Etcd; e != nil && s.l.changed("engine.etcd.members") {
		n := int32(e.Members)
		out.Spec.Replicas = &n
		comments = append(comments, s.l.because("engine.etcd.members")+": a member more is announced first (etcdctl member add), a member less taken out first (etcdctl member remove).")
		p.applies = append(p.applies, "engine.etcd.members")
	}
	if s.changed {
		out.Spec.VolumeClaimTemplates = s.claims
	}
	if !s.changed && len(pod.Containers) == 0 && pod.NodeSelector == nil && out.Spec.Replicas == nil {
		return len(p.files) > 0, nil
	}
	text, err := manifest(out)
	if err != nil {
		return false, err
	}
	for _, d := range s.l.disks {
		if d.fate != removed && d.member == 0 {
			comments = append(comments, d.why())
		}
	}
	const file = "kubernetes-patch/statefulset.yaml"
	if s.changed {
		comments = append(comments, "volumeClaimTemplates are immutable, and in a patch they replace the whole list: all are here. README.md", "tells how a StatefulSet is replaced without touching its pods and claims.")
	}
	head := s.l.head("#", "A strategic merge patch of the StatefulSet "+s.manifest.Name+". It is no manifest by itself.", comments...)
	p.files = append(p.files, File{Path: file, Text: []byte(head + text), Mode: plain})
	s.tell(p, file)
	return true, nil
}

// memory limits the container, if the scenario's memory is a container's and it or the cache changes.
func (s *statefulSet) memory(p *part, c *corev1.Container) (comments []string) {
	l := s.l
	limit := l.After.Host.Memory
	ofMachine := l.After.Instance() != nil && limit >= l.After.Instance().Memory
	if ofMachine || !l.changed("host.memory") {
		if wt := l.After.Engine.WiredTiger; wt != nil && l.changed("engine.wiredtiger.cache") {
			if is, ok := s.container.Resources.Limits[corev1.ResourceMemory]; ok && is.Value() < int64(wt.Cache+units.GiB) {
				p.risks = append(p.risks, fmt.Sprintf("Container %s is limited to %s of memory, and a cache of %s needs about 1 GiB more than itself: it would be killed. Raise the limit (`host.memory` in the scenario).",
					s.container.Name, is.String(), wt.Cache.Exact()))
			}
		}
		return nil
	}
	q := *resource.NewQuantity(int64(limit), resource.BinarySI)
	c.Resources = corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceMemory: q},
		Requests: corev1.ResourceList{corev1.ResourceMemory: q},
	}
	p.applies = append(p.applies, "host.memory")
	return []string{l.because("host.memory"), why("host.memory") + " Request and limit are the same, so that no other pod can have it."}
}

// tell writes how the patch is applied, and undone.
func (s *statefulSet) tell(p *part, file string) {
	ns := ""
	if s.manifest.Namespace != "" {
		ns = " -n " + s.manifest.Namespace
	}
	name := s.manifest.Name
	for _, m := range s.mounts {
		if e := s.l.After.Engine.Name(); e != "wiredtiger" {
			p.apply = append(p.apply, fmt.Sprintf("In the container the volume %s is at `%s`: tell %s (%s).", m.Name, m.MountPath, e, placeOf(e, m.Name).tell))
		}
	}
	if !s.changed {
		p.apply = append(p.apply, fmt.Sprintf("`kubectl%s patch statefulset %s --type strategic --patch-file %s`", ns, name, file))
		p.back = append(p.back, fmt.Sprintf("`kubectl%s rollout undo statefulset %s`.", ns, name))
		return
	}
	p.apply = append(p.apply, fmt.Sprintf("The StatefulSet's claim templates cannot be changed, so it is replaced while its pods and claims stay (`--cascade=orphan`):\n\n"+
		"    kubectl%[1]s get statefulset %[2]s -o yaml > before.yaml\n"+
		"    kubectl%[1]s patch --local -f before.yaml --type strategic --patch-file %[3]s -o yaml > after.yaml\n"+
		"    kubectl%[1]s apply --dry-run=server -f after.yaml   # only the claim templates may be refused\n"+
		"    kubectl%[1]s delete statefulset %[2]s --cascade=orphan\n"+
		"    kubectl%[1]s apply -f after.yaml\n\n"+
		"The pods run on meanwhile. An operator that owns the StatefulSet would undo this: change its own resource instead.", ns, name, file))
	p.back = append(p.back, fmt.Sprintf("The same way with `before.yaml`: `kubectl%[1]s delete statefulset %[2]s --cascade=orphan && kubectl%[1]s apply -f before.yaml`. Claims of a volume that is no longer named stay until you delete them.", ns, name))
	p.risks = append(p.risks, "Between `delete --cascade=orphan` and `apply` nobody restarts a pod that dies. Do both at once.")
}
