package discover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/record/kubeclient"
)

// A seen is a claim with its volume and classes.
type seen struct {
	claim   *corev1.PersistentVolumeClaim
	pv      *corev1.PersistentVolume
	driver  string
	made    emit.Class // from its StorageClass
	changed emit.Class // from its VolumeAttributesClass
	known   bool       // emit supports the driver
	class   string     // the StorageClass's name
	by      string     // the VolumeAttributesClass's name
}

// volumes adds each volume of the engine, as in the first pod's claims.
func (d *discovery) volumes() error {
	options := false
	for _, role := range d.traits.Volumes {
		template := d.Templates[role.Name]
		if template == "" {
			continue
		}

		var first *seen
		for i := range d.Pods {
			s, err := d.see(template, i)
			if err != nil {
				return err
			}

			switch {
			case s == nil:
			case first == nil:
				first = s
			case s.figures() != first.figures():
				d.remark("%s is %s but %s is %s: the scenario uses the first for every member (set others under members:)",
					first.claim.Name, first.figures(), s.claim.Name, s.figures())
			}
		}

		if first == nil {
			return inputf(
				"check kubectl get pods,pvc", "the claims of %s do not exist: no pod of %s was ever started",
				template, d.Set.Name)
		}

		d.volume("volumes."+role.Name+".", first)

		// A scenario has one file system for all volumes, so use the first volume's.
		if !options {
			options = true
			d.fileSystem(first)
		}
	}

	return nil
}

// see reads a member's claim of a template; nil if it does not exist.
func (d *discovery) see(template string, member int) (*seen, error) {
	name := ClaimName(template, d.Set, emit.FirstOrdinal(d.Set)+member)
	claim := d.Claims[name]
	if claim == nil {
		d.remark("claim %s does not exist", name)
		return nil, nil
	}

	// An unbound claim has no volume, and its request may never be met.
	if claim.Status.Phase != corev1.ClaimBound {
		return nil, inputf("for the reason, run kubectl describe pvc "+name+" -n "+claim.Namespace,
			"claim %s is not bound to a volume: it is %s", name,
			strings.ToLower(cmp.Or(string(claim.Status.Phase), "new")))
	}

	found := &seen{claim: claim, pv: d.Volumes[claim.Spec.VolumeName]}
	if claim.Spec.StorageClassName != nil {
		found.class = *claim.Spec.StorageClassName
	}

	class := d.Classes[found.class]
	if found.pv != nil && found.pv.Spec.CSI != nil {
		found.driver = found.pv.Spec.CSI.Driver
	} else if class != nil {
		found.driver = class.Provisioner
	}

	if class != nil {
		found.made, found.known = emit.ReadClass(cmp.Or(found.driver, class.Provisioner), class.Parameters, false)
		// Users should know this before they plan a larger volume.
		if class.AllowVolumeExpansion == nil || !*class.AllowVolumeExpansion {
			d.remark("StorageClass %s does not allow volumes to grow (allowVolumeExpansion): a larger size needs new claims",
				class.Name)
		}
	}

	if found.pv != nil && found.pv.Spec.CSI != nil { // Azure's driver repeats the parameters in the volume
		if own, ok := emit.ReadClass(found.driver, found.pv.Spec.CSI.VolumeAttributes, true); ok {
			found.known = true
			found.made = merged(found.made, own)
		}
	}

	if name := claim.Status.CurrentVolumeAttributesClassName; name != nil && d.Attributes[*name] != nil {
		found.by = *name
		found.changed, _ = emit.ReadClass(d.Attributes[*name].DriverName, d.Attributes[*name].Parameters, true)
	}

	if m := claim.Status.ModifyVolumeStatus; m != nil {
		d.remark("the volume of %s is being modified to %s (%s)", name, m.TargetVolumeAttributesClassName, m.Status)
	}

	d.zones(found, member)
	return found, nil
}

// merged returns a class with the values of another one taking precedence.
func merged(a, b emit.Class) emit.Class {
	return emit.Class{
		Provider: cmp.Or(b.Provider, a.Provider), Type: cmp.Or(b.Type, a.Type), IOPS: cmp.Or(b.IOPS, a.IOPS),
		IOPSPerGB:  cmp.Or(b.IOPSPerGB, a.IOPSPerGB),
		Throughput: cmp.Or(b.Throughput, a.Throughput), FileSystem: cmp.Or(b.FileSystem, a.FileSystem),
		Caching: cmp.Or(b.Caching, a.Caching),
	}
}

// zones compares a volume's zone with that of its pod.
func (d *discovery) zones(s *seen, member int) {
	at := kubeclient.Zone(s.pv)
	pod := d.Pods[member]
	if at == "" || pod == nil {
		return
	}
	if node := kubeclient.NodeZone(d.Nodes[pod.Spec.NodeName]); node != "" && node != at {
		d.remark("claim %s is bound to a volume in zone %s, but its pod's node is in %s", s.claim.Name, at, node)
	}
}

// figures describes the volume in a few words.
func (s *seen) figures() string {
	c := merged(s.made, s.changed)
	out := []string{cmp.Or(c.Type, s.driver, "unknown"), s.size()}
	if c.IOPS > 0 {
		out = append(out, fmt.Sprintf("%d IOPS", c.IOPS))
	}
	if c.Throughput > 0 {
		out = append(out, throughput(c.Throughput))
	}
	return strings.Join(out, " ")
}

func (s *seen) size() string {
	q := s.claim.Status.Capacity[corev1.ResourceStorage]
	return q.String()
}

// volume adds a volume.
func (d *discovery) volume(key string, volume *seen) {
	all := merged(volume.made, volume.changed)
	from := func(changed bool) string {
		if changed {
			return fmt.Sprintf("VolumeAttributesClass %s of claim %s", volume.by, volume.claim.Name)
		}
		return fmt.Sprintf("StorageClass %s, driver %s; later changes at the provider are not visible here",
			volume.class, volume.driver)
	}

	known := knownType(all.Type)
	if known {
		d.add(key+"type", fit.Word(all.Type), fit.Declared, "%s", from(volume.changed.Type != ""))
	} else {
		d.custom(key, volume, all.Type)
	}

	capacity := volume.claim.Status.Capacity[corev1.ResourceStorage]
	d.add(key+"size", fit.Exactly(float64(capacity.Value())), fit.Declared, "claim %s, status.capacity: %s",
		volume.claim.Name, capacity.String())

	// The other figures only make sense for a known product.
	if !known {
		return
	}

	switch {
	case all.IOPS > 0:
		d.add(key+"iops", fit.IOPS(float64(all.IOPS)), fit.Declared, "%s", from(volume.changed.IOPS > 0))
	case all.IOPSPerGB > 0:
		d.add(key+"iops_per_gb", fit.Count(float64(all.IOPSPerGB)), fit.Declared, "%s", from(false))
	}

	if all.Throughput > 0 {
		d.add(key+"throughput", fit.Word(throughput(all.Throughput)), fit.Declared, "%s",
			from(volume.changed.Throughput > 0))
	}

	if all.Provider == "azure" && all.Type == "premium-ssd" {
		d.add(key+"caching", fit.Word(string(cmp.Or(all.Caching, "read-only"))), fit.Declared,
			"%s; the driver's default is ReadOnly", from(false))
	}
}

// custom adds a volume whose product is unknown.
func (d *discovery) custom(key string, s *seen, product string) {
	why := fmt.Sprintf("product of the volume of claim %s: its StorageClass %q is not readable",
		s.claim.Name, s.class)
	switch {
	case product != "":
		why = fmt.Sprintf("limits of the volume of claim %s: it is a %s, which is not in the catalogue",
			s.claim.Name, product)
	case s.driver != "" && !s.known:
		why = fmt.Sprintf("limits of the volume of claim %s: its driver is %s", s.claim.Name, s.driver)
	}
	const measure = "plimsoll fit SOURCE, or plimsoll probe"
	d.add(key+"type", fit.Word("custom"), fit.Assumed, "%s; no limits are set", why).ToKnow(measure)
	d.add(key+"latency.like", fit.Word("gp3"), fit.Assumed, "latency: that of a gp3 assumed").ToKnow(measure)
}

// fileSystem adds how the volumes are formatted and mounted.
func (d *discovery) fileSystem(s *seen) {
	fs, from := s.made.FileSystem, "StorageClass "+s.class
	var options []string
	if s.pv != nil {
		options = s.pv.Spec.MountOptions
		if s.pv.Spec.CSI != nil && s.pv.Spec.CSI.FSType != "" {
			fs, from = s.pv.Spec.CSI.FSType, "PersistentVolume "+s.pv.Name
		}
	}

	switch {
	case fs == "xfs" || fs == "ext4":
		d.add("host.filesystem", fit.Word(fs), fit.Declared, "%s, fsType", from)
	case fs != "":
		d.remark("the file system is %s, which the model does not support: ext4 is assumed", fs)
		fallthrough
	default:
		d.add("host.filesystem", fit.Word("ext4"), fit.Assumed,
			"file system: ext4 assumed, the default of CSI drivers").ToKnow("kubectl exec POD -- df -T")
	}

	if len(options) > 0 && !slices.ContainsFunc(options,
		func(o string) bool { return strings.ContainsAny(o, " \"'#:") }) {
		d.add("host.mount_options", fit.Word(strings.Join(options, ",")), fit.Declared,
			"PersistentVolume %s, mountOptions", s.pv.Name)
	}
}

// throughput formats a rate in the scenario's syntax.
func throughput(t units.Throughput) string {
	text, err := t.MarshalText()
	if err != nil {
		return fmt.Sprint(float64(t))
	}
	return string(text)
}
