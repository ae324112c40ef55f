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
	"plimsoll/internal/record/cluster"
)

// A seen is a claim with its volume and classes.
type seen struct {
	claim   *corev1.PersistentVolumeClaim
	pv      *corev1.PersistentVolume
	driver  string
	made    emit.Class // by its StorageClass
	changed emit.Class // by its VolumeAttributesClass
	known   bool       // the driver is one that emit knows
	class   string     // the StorageClass
	by      string     // the VolumeAttributesClass
}

// volumes enters each volume of the engine, as the first pod's claims have it.
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
				d.remark("%s is %s and %s is %s: the first is taken for every member (members: in the scenario takes others)",
					first.claim.Name, first.figures(), s.claim.Name, s.figures())
			}
		}

		if first == nil {
			return inputf(
				"kubectl get pods,pvc shows why", "the claims of %s do not exist: no pod of %s was ever started",
				template, d.Set.Name)
		}

		d.volume("volumes."+role.Name+".", first)
		if !options {
			options = true
			d.fileSystem(first)
		}
	}

	return nil
}

// see looks at a template's claim of a member; nil if it does not exist.
func (d *discovery) see(template string, member int) (*seen, error) {
	name := ClaimName(template, d.Set, Start(d.Set)+member)
	claim := d.Claims[name]
	if claim == nil {
		d.remark("claim %s does not exist", name)
		return nil, nil
	}

	if claim.Status.Phase != corev1.ClaimBound {
		return nil, inputf("kubectl describe pvc "+name+" -n "+claim.Namespace+" says why",
			"claim %s is not bound to a volume: it is %s", name,
			strings.ToLower(cmp.Or(string(claim.Status.Phase), "new")))
	}

	s := &seen{claim: claim, pv: d.Volumes[claim.Spec.VolumeName]}
	if claim.Spec.StorageClassName != nil {
		s.class = *claim.Spec.StorageClassName
	}

	class := d.Classes[s.class]
	if s.pv != nil && s.pv.Spec.CSI != nil {
		s.driver = s.pv.Spec.CSI.Driver
	} else if class != nil {
		s.driver = class.Provisioner
	}

	if class != nil {
		s.made, s.known = emit.ReadClass(cmp.Or(s.driver, class.Provisioner), class.Parameters, false)
		if class.AllowVolumeExpansion == nil || !*class.AllowVolumeExpansion {
			d.remark("StorageClass %s does not allow volumes to grow (allowVolumeExpansion): a larger size takes new claims",
				class.Name)
		}
	}

	if s.pv != nil && s.pv.Spec.CSI != nil { // Azure's driver repeats its parameters in the volume
		if own, ok := emit.ReadClass(s.driver, s.pv.Spec.CSI.VolumeAttributes, true); ok {
			s.known = true
			s.made = merged(s.made, own)
		}
	}

	if name := claim.Status.CurrentVolumeAttributesClassName; name != nil && d.Attributes[*name] != nil {
		s.by = *name
		s.changed, _ = emit.ReadClass(d.Attributes[*name].DriverName, d.Attributes[*name].Parameters, true)
	}

	if m := claim.Status.ModifyVolumeStatus; m != nil {
		d.remark("the volume of %s is being modified to %s (%s)", name, m.TargetVolumeAttributesClassName, m.Status)
	}

	d.zones(s, member)
	return s, nil
}

// merged is a class with what another one gives in addition.
func merged(a, b emit.Class) emit.Class {
	return emit.Class{
		Provider: cmp.Or(b.Provider, a.Provider), Type: cmp.Or(b.Type, a.Type), IOPS: cmp.Or(b.IOPS, a.IOPS),
		IOPSPerGB:  cmp.Or(b.IOPSPerGB, a.IOPSPerGB),
		Throughput: cmp.Or(b.Throughput, a.Throughput), FileSystem: cmp.Or(b.FileSystem, a.FileSystem),
		Caching: cmp.Or(b.Caching, a.Caching),
	}
}

// zones compares where a volume is with where its pod runs.
func (d *discovery) zones(s *seen, member int) {
	at := cluster.Zone(s.pv)
	pod := d.Pods[member]
	if at == "" || pod == nil {
		return
	}
	if node := cluster.NodeZone(d.Nodes[pod.Spec.NodeName]); node != "" && node != at {
		d.remark("claim %s is bound to a volume in zone %s, and its pod's node is in %s", s.claim.Name, at, node)
	}
}

// figures is the volume in a few words.
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

// volume enters one volume.
func (d *discovery) volume(key string, s *seen) {
	all := merged(s.made, s.changed)
	from := func(changed bool) string {
		if changed {
			return fmt.Sprintf("VolumeAttributesClass %s, which claim %s has", s.by, s.claim.Name)
		}
		return fmt.Sprintf("StorageClass %s, driver %s; what was changed at the provider since does not show here",
			s.class, s.driver)
	}

	if product := knownType(all.Type); product {
		d.add(key+"type", fit.Word(all.Type), fit.Declared, "%s", from(s.changed.Type != ""))
	} else {
		d.custom(key, s, all.Type)
	}

	capacity := s.claim.Status.Capacity[corev1.ResourceStorage]
	d.add(key+"size", fit.Exactly(float64(capacity.Value())), fit.Declared, "claim %s, status.capacity: %s",
		s.claim.Name, capacity.String())
	if !knownType(all.Type) {
		return
	}

	switch {
	case all.IOPS > 0:
		d.add(key+"iops", fit.IOPS(float64(all.IOPS)), fit.Declared, "%s", from(s.changed.IOPS > 0))
	case all.IOPSPerGB > 0:
		d.add(key+"iops_per_gb", fit.Count(float64(all.IOPSPerGB)), fit.Declared, "%s", from(false))
	}

	if all.Throughput > 0 {
		d.add(key+"throughput", fit.Word(throughput(all.Throughput)), fit.Declared, "%s",
			from(s.changed.Throughput > 0))
	}

	if all.Provider == "azure" && all.Type == "premium-ssd" {
		d.add(key+"caching", fit.Word(string(cmp.Or(all.Caching, "read-only"))), fit.Declared,
			"%s; the driver's default is ReadOnly", from(false))
	}
}

// custom enters a volume that is no product of the catalogue.
func (d *discovery) custom(key string, s *seen, product string) {
	why := fmt.Sprintf("what the volume of claim %s is: its StorageClass %q could not be read",
		s.claim.Name, s.class)
	switch {
	case product != "":
		why = fmt.Sprintf("the limits of the volume of claim %s: it is a %s, which is not in the catalogue",
			s.claim.Name, product)
	case s.driver != "" && !s.known:
		why = fmt.Sprintf("the limits of the volume of claim %s: its driver is %s", s.claim.Name, s.driver)
	}
	const measure = "plimsoll fit SOURCE, or plimsoll probe"
	d.add(key+"type", fit.Word("custom"), fit.Assumed, "%s; no limits are set", why).ToKnow(measure)
	d.add(key+"latency.like", fit.Word("gp3"), fit.Assumed, "its latency; that of a gp3 taken").ToKnow(measure)
}

// fileSystem enters how the volumes are formatted and mounted.
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
		d.remark("the file system is %s, which the model does not know: ext4 is taken", fs)
		fallthrough
	default:
		d.add("host.filesystem", fit.Word("ext4"), fit.Assumed,
			"the file system; ext4 taken, which CSI drivers make by default").ToKnow("kubectl exec POD -- df -T")
	}

	if len(options) > 0 && !slices.ContainsFunc(options,
		func(o string) bool { return strings.ContainsAny(o, " \"'#:") }) {
		d.add("host.mount_options", fit.Word(strings.Join(options, ",")), fit.Declared,
			"PersistentVolume %s, mountOptions", s.pv.Name)
	}
}

// throughput is a rate as a scenario has it.
func throughput(t units.Throughput) string {
	text, err := t.MarshalText()
	if err != nil {
		return fmt.Sprint(float64(t))
	}
	return string(text)
}
