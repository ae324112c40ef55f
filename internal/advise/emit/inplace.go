package emit

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/base/units"
)

// A ClusterChange is a layout's changes to a cluster as objects. The files of the target kubernetes
// express the same as text and patches.
type ClusterChange struct {
	// Classes are the new volumes' classes, to be created.
	Classes []*storagev1.StorageClass `json:"classes,omitempty"`
	// Claims are changes of claims in use.
	Claims []ClaimChange `json:"claims,omitempty"`
	// After is the StatefulSet with the log's claim template and mount, and the init container that
	// moves the log there; nil: the set does not change. Back is the same with the init container that
	// moves it back; nil: no log moves. Both have the update strategy OnDelete.
	After *appsv1.StatefulSet `json:"after,omitempty"`
	Back  *appsv1.StatefulSet `json:"back,omitempty"`
	// Log is the claim template that the log moves to, and Data the one that it comes from.
	Log  string `json:"log,omitempty"`
	Data string `json:"data,omitempty"`
	// Container is the database's container.
	Container string `json:"container"`
	// Paths are the changes that this covers, by their paths in the scenario.
	Paths []string `json:"paths"`
}

// Indices of the log's old path and its path on the new volume in the init container's command.
const (
	MoverFrom = 4
	MoverTo   = 5
)

// A ClaimChange is a change of the claims of one volume.
type ClaimChange struct {
	Volume   string `json:"volume"`
	Template string `json:"template"`         // of the claims
	Member   int    `json:"member,omitempty"` // from 1; 0: all members
	// Attributes is the new class, and Old a class with the current figures; nil: the figures stay the
	// same.
	Attributes *storagev1.VolumeAttributesClass `json:"attributes,omitempty"`
	Old        *storagev1.VolumeAttributesClass `json:"old,omitempty"`
	// Size is the new, larger size; nil: it stays the same.
	Size *resource.Quantity `json:"size,omitempty"`
}

// InPlace returns a layout's changes to the StatefulSet in the options as objects. It refuses changes
// that need new claims for existing data; the error's hint is how to make them.
func (l *Transition) InPlace(o *Options) (*ClusterChange, error) {
	s, err := readStatefulSet(l, o)
	if err != nil {
		return nil, err
	}

	c := &ClusterChange{Data: s.templates["data"], Container: s.container.Name}
	for i := range l.disks {
		d := &l.disks[i]
		if d.action == removed {
			continue
		}
		if err := d.carries("kubernetes"); err != nil {
			return nil, err
		}
		if err := l.inPlace(c, s, d); err != nil {
			return nil, err
		}
	}

	// Use the same code as the patch, with a container that only collects the memory limits.
	memory := corev1.Container{}
	p := &Part{}
	s.memory(p, &memory)

	if len(p.Applies) == 0 && !s.moving {
		return c, nil
	}

	c.Paths = append(c.Paths, p.Applies...)
	c.After = s.after(podMove, &memory)
	if s.moving {
		c.Log = l.log
		c.Back = s.after(podBack, &memory)
	}

	return c, nil
}

// inPlace adds the change of one disk.
func (l *Transition) inPlace(cluster *ClusterChange, set *statefulSet, volume *disk) error {
	const steps = "use plimsoll emit --target kubernetes --statefulset FILE, which writes the steps"
	switch {
	// The order of the cases matters: the specific reasons come before the general ones.
	case volume.action == created && volume.after.snapshot:
		return Inputf(steps, "%s is created from a snapshot, but a log can only move to an empty volume", volume.path)
	case volume.recached:
		return Inputf(
			steps, "%s: the host caching of a claim in use cannot change, because its volume's cachingMode is immutable",
			volume.path)
	case volume.switched:
		return Inputf("use az disk update --enable-bursting for each disk, while its machine is deallocated",
			"%s: the driver cannot turn on-demand bursting of a claim in use on or off", volume.path)
	case volume.action == created && set.moves(volume):
		cluster.Classes = append(cluster.Classes, l.storageClass(volume))
		cluster.Paths = append(cluster.Paths, volume.path)
		return set.claim(volume)
	case volume.action == created:
		return Inputf(steps, "%s is new, but only a log can move to a new volume automatically", volume.path)
	case volume.action != modified:
		return Inputf(
			steps, "%s: a claim in use cannot be changed to this; it needs new claims, and the data has to move to them",
			volume.why())
	case set.templates[volume.volume] == "":
		return Inputf("name it: --claim "+volume.volume+"=NAME",
			"cannot determine the claim template of volume %[2]s in the StatefulSet %[1]s", set.manifest.Name, volume.volume)
	}

	change := ClaimChange{Volume: volume.volume, Template: set.templates[volume.volume], Member: volume.member}
	if volume.tuned {
		change.Attributes, change.Old = l.attributesClass(volume, volume.after),
			l.attributesClass(volume, volume.before)
	}

	if volume.resized {
		change.Size = resource.NewQuantity(volume.after.gib*int64(units.GiB), resource.BinarySI)
	}

	cluster.Claims = append(cluster.Claims, change)
	cluster.Paths = append(cluster.Paths, volume.path)
	return nil
}

// after returns the set with all changes, and with a script in its init container if the log moves.
func (s *statefulSet) after(script string, memory *corev1.Container) *appsv1.StatefulSet {
	out := s.manifest.DeepCopy()
	out.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}

	pod := &out.Spec.Template.Spec
	for i := range pod.Containers {
		c := &pod.Containers[i]
		if c.Name != s.container.Name {
			continue
		}

		c.VolumeMounts = append(c.VolumeMounts, s.mounts...)
		for name, q := range memory.Resources.Limits {
			// Request and limit are equal, so that the scheduler reserves the memory.
			if c.Resources.Limits == nil {
				c.Resources.Limits = corev1.ResourceList{}
			}
			if c.Resources.Requests == nil {
				c.Resources.Requests = corev1.ResourceList{}
			}
			c.Resources.Limits[name], c.Resources.Requests[name] = q, q
		}
	}

	if s.moving {
		out.Spec.VolumeClaimTemplates = append([]corev1.PersistentVolumeClaim{}, s.claims...)
		pod.InitContainers = append(pod.InitContainers, s.mover(script))
	}

	return out
}

// StatefulSetText returns a set in the form that Options.StatefulSet expects.
func StatefulSetText(set *appsv1.StatefulSet) ([]byte, error) {
	copied := set.DeepCopy()
	copied.APIVersion, copied.Kind = "apps/v1", "StatefulSet"
	copied.ManagedFields = nil
	return yaml.Marshal(copied)
}
