package emit

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/base/units"
)

// A ClusterChange is what a layout changes in a cluster, as objects: what the files of the target
// kubernetes say in words and patches.
type ClusterChange struct {
	// Classes are made for new volumes.
	Classes []*storagev1.StorageClass `json:"classes,omitempty"`
	// Claims change while they are in use.
	Claims []ClaimChange `json:"claims,omitempty"`
	// After is the StatefulSet with the log's claim template and mount, and the init container that
	// moves the log there; nil: the set does not change. Back is the same with the one that moves it
	// back; nil: no log moves. Both update OnDelete.
	After *appsv1.StatefulSet `json:"after,omitempty"`
	Back  *appsv1.StatefulSet `json:"back,omitempty"`
	// Log is the claim template that the log moves to, and Data the one that it comes from.
	Log  string `json:"log,omitempty"`
	Data string `json:"data,omitempty"`
	// Container is the database's.
	Container string `json:"container"`
	// Paths are the changes that are made so, by their paths in the scenario.
	Paths []string `json:"paths"`
}

// Mover is the name of the init container that moves a log.
const Mover = moverName

// Where the command of the init container has the log's paths: the one it moves from, and the one on
// the new volume.
const (
	MoverFrom = 4
	MoverTo   = 5
)

// A ClaimChange is a change of the claims of one volume.
type ClaimChange struct {
	Volume   string `json:"volume"`
	Template string `json:"template"`         // of the claims
	Member   int    `json:"member,omitempty"` // from 1; 0: every one
	// Attributes is the class to give, and Old one with the figures that the scenario has now; nil:
	// the figures stay.
	Attributes *storagev1.VolumeAttributesClass `json:"attributes,omitempty"`
	Old        *storagev1.VolumeAttributesClass `json:"old,omitempty"`
	// Size is the size to grow to; nil: it stays.
	Size *resource.Quantity `json:"size,omitempty"`
}

// InPlace makes the objects of a layout's changes to the StatefulSet in the options. What takes new
// claims for data that exists is refused: the error says what does that.
func (l *Layout) InPlace(o *Options) (*ClusterChange, error) {
	s, err := readStatefulSet(l, o)
	if err != nil {
		return nil, err
	}

	c := &ClusterChange{Data: s.templates["data"], Container: s.container.Name}
	for i := range l.disks {
		d := &l.disks[i]
		if d.fate == removed {
			continue
		}
		if err := d.carries("kubernetes"); err != nil {
			return nil, err
		}
		if err := l.inPlace(c, s, d); err != nil {
			return nil, err
		}
	}

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
func (l *Layout) inPlace(c *ClusterChange, s *statefulSet, d *disk) error {
	const steps = "plimsoll emit --to kubernetes --statefulset FILE writes the steps"
	switch {
	case d.fate == created && d.after.snapshot:
		return Inputf(steps, "%s is made from a snapshot, and a log moves to an empty volume", d.path)
	case d.recached:
		return Inputf(
			steps, "%s: the host's caching of a claim in use cannot change: its volume's cachingMode is fixed",
			d.path)
	case d.switched:
		return Inputf("az disk update --enable-bursting switches it on each disk, while its machine is deallocated",
			"%s: the driver does not switch on-demand bursting of a claim in use", d.path)
	case d.fate == created && s.moves(d):
		c.Classes = append(c.Classes, l.storageClass(d))
		c.Paths = append(c.Paths, d.path)
		return s.claim(d)
	case d.fate == created:
		return Inputf(steps, "%s is new, and only the log moves to a new volume by itself", d.path)
	case d.fate != modified:
		return Inputf(
			steps, "%s: a claim in use cannot become this, it takes new claims, and the data has to come to them",
			d.why())
	case s.templates[d.volume] == "":
		return Inputf("name it: --claim "+d.volume+"=NAME",
			"which claim template of the StatefulSet %s is volume %s cannot be determined", s.manifest.Name, d.volume)
	}

	change := ClaimChange{Volume: d.volume, Template: s.templates[d.volume], Member: d.member}
	if d.tuned {
		change.Attributes, change.Old = l.attributesClass(d, d.after), l.attributesClass(d, d.before)
	}

	if d.resized {
		change.Size = resource.NewQuantity(d.after.gib*int64(units.GiB), resource.BinarySI)
	}

	c.Claims = append(c.Claims, change)
	c.Paths = append(c.Paths, d.path)
	return nil
}

// after is the set with everything that changes, and a script in its init container if the log
// moves.
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

// StatefulSetText is a set as the options take it.
func StatefulSetText(set *appsv1.StatefulSet) ([]byte, error) {
	copied := set.DeepCopy()
	copied.APIVersion, copied.Kind = "apps/v1", "StatefulSet"
	copied.ManagedFields = nil
	return yaml.Marshal(copied)
}
