package discover

import (
	"path"

	corev1 "k8s.io/api/core/v1"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
)

// process returns a container as started: its command line, environment and mounted files. It does not read
// Secrets.
func (o *Objects) process(known *catalog.Catalog, c *corev1.Container) *Process {
	p := &Process{Args: append(append([]string{}, c.Command...), c.Args...), env: map[string]string{}}
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef == nil || o.ConfigMaps[from.ConfigMapRef.Name] == nil {
			continue
		}
		for key, value := range o.ConfigMaps[from.ConfigMapRef.Name].Data {
			p.env[from.Prefix+key] = value
		}
	}

	for _, e := range c.Env {
		p.env[e.Name] = e.Value
		// Values from Secrets stay empty: discover never reads Secrets.
		if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
			if m := o.ConfigMaps[e.ValueFrom.ConfigMapKeyRef.Name]; m != nil {
				p.env[e.Name] = m.Data[e.ValueFrom.ConfigMapKeyRef.Key]
			}
		}
	}

	for _, v := range o.Set.Spec.Template.Spec.Volumes {
		if v.ConfigMap == nil || o.ConfigMaps[v.ConfigMap.Name] == nil {
			continue
		}
		for _, m := range c.VolumeMounts {
			if m.Name == v.Name {
				p.mount(o.ConfigMaps[v.ConfigMap.Name], v.ConfigMap.Items, m)
			}
		}
	}

	if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok {
		p.Memory = units.Size(limit.Value())
	} else if i := o.instance(known); i != nil {
		p.Memory = i.Memory
	}

	return p
}

// mount adds a ConfigMap's files at their paths in the container.
func (p *Process) mount(m *corev1.ConfigMap, items []corev1.KeyToPath, at corev1.VolumeMount) {
	files := map[string]string{} // texts by path in the volume
	for key, text := range m.Data {
		files[key] = text
	}

	// A volume with items has only these, at their own paths.
	if len(items) > 0 {
		clear(files)
		for _, item := range items {
			files[item.Path] = m.Data[item.Key]
		}
	}

	object := "ConfigMap " + m.Name
	for name, text := range files {
		switch {
		case at.SubPath == "":
			p.files = append(p.files, mounted{path.Join(at.MountPath, name), text, object})
		// With a subPath, the mount point is the file itself.
		case at.SubPath == name:
			p.files = append(p.files, mounted{path.Clean(at.MountPath), text, object})
		}
	}
}

// instanceName returns the type of the first pod's machine, and the node with that label.
func (o *Objects) instanceName() (name, node string) {
	for _, p := range o.Pods {
		if p == nil || o.Nodes[p.Spec.NodeName] == nil {
			continue
		}
		labels := o.Nodes[p.Spec.NodeName].Labels
		for _, key := range []string{corev1.LabelInstanceTypeStable, corev1.LabelInstanceType} {
			if labels[key] != "" {
				return labels[key], p.Spec.NodeName
			}
		}
	}
	return "", ""
}

// instance returns that machine from the catalogue; nil if it is not there.
func (o *Objects) instance(known *catalog.Catalog) *catalog.InstanceType {
	name, _ := o.instanceName()
	i, err := known.Instance(name)
	if err != nil {
		return nil
	}
	return i
}
