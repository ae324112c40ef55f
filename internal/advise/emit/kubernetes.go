package emit

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/base/units"
)

// kubernetes writes a StorageClass for new volumes, a VolumeAttributesClass (storage.k8s.io/v1, since
// Kubernetes 1.34) for volumes modified in use, and a patch of the StatefulSet if its manifest is given.
// The parameters of both classes are immutable, so a class's name includes its figures.
func kubernetes(transition *Transition, opt *Options) (*Part, error) {
	part := &Part{}

	// Classes are removed last, after everything that uses them.
	defer func() { part.Back = append(part.Back, transition.unmake(part)...) }()
	var set *statefulSet

	if opt.StatefulSet != nil {
		var err error
		if set, err = readStatefulSet(transition, opt); err != nil {
			return nil, err
		}
	}

	claims := &claims{l: transition, set: set}
	for i := range transition.disks {
		d := &transition.disks[i]

		// Removed volumes keep their claims, because they have data.
		if d.action == removed || d.member > 0 && d.isNew() { // a claim template applies to every member
			continue
		}

		if err := d.carries("kubernetes"); err != nil {
			if opt.Skip {
				continue
			}
			return nil, err
		}

		if err := transition.classes(part, d, set); err != nil {
			return nil, err
		}

		part.Applies = append(part.Applies, d.path)
		if err := claims.add(part, d); err != nil {
			return nil, err
		}
	}

	if err := transition.queueDaemonSet(part); err != nil {
		return nil, err
	}

	if set != nil {
		patched, err := set.patch(part)
		if err != nil {
			return nil, err
		}
		if patched {
			return part, nil
		}
	}

	if len(part.Files) == 0 {
		return nil, nil
	}

	if set == nil && len(transition.disks) > 0 {
		part.Apply = append(
			part.Apply, "These files have no claim templates, mounts or memory limits: run emit again with `--statefulset FILE` (`kubectl get statefulset NAME -o yaml > FILE`).")
	}

	return part, nil
}

// unmake returns how to remove a part's StorageClasses. That is the last step of going back.
func (l *Transition) unmake(p *Part) (out []string) {
	for _, f := range p.Files {
		if strings.HasPrefix(f.Path, storageClassPath) {
			out = append(out,
				"Last, and only if `kubectl get pvc -A` shows no claim of its class: `kubectl delete -f "+
					f.Path+"`. Claims of the class keep working without it, but can no longer grow.")
		}
	}
	return out
}

// claims writes how to change existing claims.
type claims struct {
	l   *Transition
	set *statefulSet // nil: not given
}

// add writes the commands for a disk, and adds its claim template to the patch.
func (c *claims) add(part *Part, volume *disk) error {
	if c.set != nil {
		if err := c.set.claim(volume); err != nil {
			return err
		}
	}

	if volume.action != modified {
		return nil
	}

	if volume.recached {
		part.Apply = append(part.Apply,
			fmt.Sprintf("%s: a volume's `cachingMode` cannot change after its claim is bound, and the driver applies it at each attachment. For `%s`, a member needs a new claim of the class %s: %s",
				volume.path, volume.after.hostCaching(), c.l.storageClassName(volume), c.l.bring(volume.volume)))
		part.Back = append(part.Back, volume.path+
			": keep the old claims until you are satisfied with the new ones. To go back, do the same with their class.")
		if !volume.tuned && !volume.resized && !volume.switched {
			return nil
		}
	}

	if volume.switched {
		part.Apply = append(part.Apply,
			fmt.Sprintf("%s: the driver does not change on-demand bursting of existing disks. For each disk: `az disk update --resource-group GROUP --name DISK --enable-bursting %t`. %s.",
				volume.path, volume.after.bursting, burstingRule))
		part.Back = append(part.Back, fmt.Sprintf("%s: the same with `--enable-bursting %t`.", volume.path, volume.before.bursting))
		if !volume.tuned && !volume.resized {
			return nil
		}
	}

	spec := map[string]any{}
	if volume.tuned {
		spec["volumeAttributesClassName"] = c.l.className(volume, volume.after)
	}

	if volume.resized {
		spec["resources"] = map[string]any{"requests": map[string]any{"storage": quantity(
			units.Size(volume.after.gib) * units.GiB)}}
	}

	body, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return err
	}

	names, namespace := c.names(volume)
	first, rest, several := strings.Cut(names, " ")
	if c.set == nil {
		first, rest, several = `"${CLAIM:?the claim of one member}"`, `${CLAIMS:?the claims of the others}`, true
	}

	text := volume.path + ": this saves the present state of its claims, once, and changes that of one member:\n\n" +
		c.save(volume, names) + c.patch(volume, first, body)
	if several {
		text += "\nOnce that is complete, the others:\n\n" + c.patch(volume, rest, body)
	}

	part.Apply = append(part.Apply, fmt.Sprintf("%s\n"+
		"`kubectl%s get pvc -o custom-columns=NAME:.metadata.name,CLASS:.status.currentVolumeAttributesClassName,STATE:.status.modifyVolumeStatus.status` shows when the change is complete. "+
		"Before Kubernetes 1.34, or with a driver that cannot modify volumes, use the `%s` target for the volumes instead.",
		text, namespace, volume.after.provider))

	c.back(part, volume)
	part.Verify = append(part.Verify, volume.path+": "+drivers[volume.after.provider].check+
		"; `iostat -x 1` on its node shows rates above the old limit.")
	return nil
}

// back writes how to restore a disk's claims.
func (c *claims) back(p *Part, d *disk) {
	const stays = "A claim cannot shrink again."
	if !d.tuned {
		p.Back = append(p.Back, d.path+": "+stays)
		return
	}

	_, namespace := c.names(d)
	text := fmt.Sprintf("%[1]s: once the modification is completed, give each claim the class that it had. One without a class gets that with the old figures, which is in the same file, because Kubernetes does not allow removing a claim's class:\n\n"+
		"    (while read -r claim class _; do\n"+
		"      [ \"$class\" != '<none>' ] || class=%[2]s\n"+
		"      kubectl%[3]s patch pvc \"$claim\" --type merge -p '{\"spec\":{\"volumeAttributesClassName\":\"'\"$class\"'\"}}' </dev/null || exit 1\n"+
		"    done < %[4]s) && rm %[4]s\n",
		d.path, c.l.className(d, d.before), namespace, c.saved(d))
	if d.resized {
		text += "\n" + stays
	}

	p.Back = append(p.Back, strings.TrimRight(text, "\n"))
}

// saved returns the file with the former state of a disk's claims.
func (c *claims) saved(d *disk) string {
	of := c.l.slug()
	if c.set != nil {
		of = c.set.manifest.Name
	}
	return "~/plimsoll-claims-" + of + "-" + d.name + ".before"
}

// save writes the command that saves the state of a disk's claims, the first time only.
func (c *claims) save(d *disk, names string) string {
	_, namespace := c.names(d)
	return fmt.Sprintf("    F=%s; test -s \"$F\" || { kubectl%s get pvc %s --no-headers -o custom-columns=NAME:.metadata.name,CLASS:.spec.volumeAttributesClassName,SIZE:.spec.resources.requests.storage > \"$F.new\" && mv \"$F.new\" \"$F\"; }; cat \"$F\"\n",
		c.saved(d), namespace, names)
}

// patch writes the commands that change fields of claims, if their state was saved. They end at the first
// one that the server refuses.
func (c *claims) patch(d *disk, names string, body []byte) string {
	_, namespace := c.names(d)
	return fmt.Sprintf("    cat %s && for claim in %s; do\n      kubectl%s patch pvc \"$claim\" --type merge -p '%s' || break\n    done\n",
		c.saved(d), names, namespace, body)
}

// names returns a disk's claims, and the kubectl option for their namespace.
func (c *claims) names(d *disk) (claims, namespace string) {
	if c.set == nil {
		return `"${CLAIM:?the claim of one member}" ${CLAIMS:?the claims of the others}`,
			` -n "${NAMESPACE:?the namespace of the claims}"`
	}

	// Claim names are TEMPLATE-SET-ORDINAL.
	template := c.set.templates[d.volume]
	var names []string
	for i := range Replicas(c.set.manifest) {
		if d.member == 0 || d.member == i+1 {
			ordinal := FirstOrdinal(c.set.manifest) + i
			names = append(names, fmt.Sprintf("%s-%s-%d", template, c.set.manifest.Name, ordinal))
		}
	}

	if ns := c.set.manifest.Namespace; ns != "" {
		namespace = " -n " + ns
	}

	return strings.Join(names, " "), namespace
}

// quantity formats a size for Kubernetes.
func quantity(s units.Size) string { return resource.NewQuantity(int64(s), resource.BinarySI).String() }

// manifest formats an object as YAML without unset fields: the API's types also write a status and empty
// maps.
func manifest(object any) (string, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return "", err
	}
	prune(tree)
	out, err := yaml.Marshal(tree)
	return string(out), err
}

// prune removes unset fields that the API's types write anyway: status, null, empty maps, an empty
// service name. It leaves the user's claim templates alone, because an empty class or label is significant
// there.
func prune(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case map[string]any:
		delete(v, "status")
		for key, x := range v {
			switch {
			// Templates are the user's own text and must survive unchanged.
			case key == "volumeClaimTemplates":
				withoutStatus(x)
			case key == "serviceName" && x == "", !prune(x):
				delete(v, key)
			}
		}
		return len(v) > 0
	case []any:
		for _, x := range v {
			prune(x)
		}
		return len(v) > 0
	}

	return true
}

func withoutStatus(list any) {
	items, _ := list.([]any)
	for _, x := range items {
		if m, ok := x.(map[string]any); ok {
			delete(m, "status")
		}
	}
}
