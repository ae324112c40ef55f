package emit

import (
	"bufio"
	"bytes"
	"errors"
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

	set := &statefulSet{l: l, templates: map[string]string{}}

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
		if set.manifest != nil {
			return nil, Inputf("use a file with only one",
				"%s has two StatefulSets: cannot determine which one runs the database", name)
		}

		set.manifest = &appsv1.StatefulSet{}
		if err := yaml.Unmarshal(doc, set.manifest); err != nil {
			return nil, Inputf(how, "%s: cannot parse the StatefulSet: %s", name, oneLine(err.Error()))
		}
	}

	switch {
	case set.manifest == nil:
		return nil, Inputf(how, "no StatefulSet in %s", name)
	case set.manifest.APIVersion != "apps/v1":
		return nil, Inputf(how, "%s: the StatefulSet's apiVersion is %q, want apps/v1", name,
			oneLine(set.manifest.APIVersion))
	case !isName(set.manifest.Name) || set.manifest.Namespace != "" && !isName(set.manifest.Namespace):
		return nil, Inputf(how, "%s: the StatefulSet's name is not valid in Kubernetes", name)
	case Replicas(set.manifest) < 0 || Replicas(set.manifest) > replicasMax:
		return nil, Inputf(how, "%s: %d replicas out of range", name, Replicas(set.manifest))
	}

	if err := set.findContainer(name, options.Container); err != nil {
		return nil, err
	}

	return set, set.findClaims(name, options.Claims)
}

// isName reports whether Kubernetes accepts a name (RFC 1123 subdomains). Names appear in commands, so
// they must not contain anything that a shell would interpret.
func isName(s string) bool {
	return s != "" && len(s) <= 253 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.'
	})
}

// Replicas returns the specified number of a set's pods.
func Replicas(set *appsv1.StatefulSet) int {
	if set.Spec.Replicas == nil {
		return 1
	}
	return int(*set.Spec.Replicas)
}

// FirstOrdinal returns the ordinal of a set's first pod.
func FirstOrdinal(set *appsv1.StatefulSet) int {
	if set.Spec.Ordinals == nil {
		return 0
	}
	return int(set.Spec.Ordinals.Start)
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
func (s *statefulSet) claim(volume *disk) error {
	if volume.member != 0 {
		return nil
	}

	size := resource.NewQuantity(volume.after.gib*int64(units.GiB), resource.BinarySI)
	s.changed = true
	class := s.l.storageClassName(volume)

	if volume.action == created {
		mount := s.mountOf(volume)
		if s.has(volume.volume, mount) {
			return Inputf(
				"add its current values under volumes in the scenario", "%s is new in the scenario, but container %s of the StatefulSet %s already has a volume %s or something mounted at %s",
				volume.path, s.container.Name, s.manifest.Name, volume.volume, oneLine(mount))
		}

		s.claims = append(s.claims, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: volume.volume},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				StorageClassName: &class,
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceStorage: *size,
				}},
			},
		})

		s.mounts = append(s.mounts, corev1.VolumeMount{Name: volume.volume, MountPath: mount})
		s.moving = s.moving || s.moves(volume)
		return nil
	}

	i := slices.IndexFunc(s.claims,
		func(c corev1.PersistentVolumeClaim) bool { return c.Name == s.templates[volume.volume] })
	if i < 0 {
		return nil
	}

	c := s.claims[i].DeepCopy()
	if c.Spec.Resources.Requests == nil {
		c.Spec.Resources.Requests = corev1.ResourceList{}
	}

	c.Spec.Resources.Requests[corev1.ResourceStorage] = *size

	// New claims are required in both cases, and they get the new class.
	if volume.action == remade || volume.recached {
		c.Spec.StorageClassName = &class
	}

	if volume.tuned {
		attributes := s.l.className(volume, volume.after)
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
