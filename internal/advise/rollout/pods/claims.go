package pods

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/record/cluster"
)

// classes makes the classes that claims are given. They are never changed, and never removed: a
// volume may have them.
func (r *Rollout) classes() steps.Step {
	var names []string
	for _, c := range r.state.Change.Classes {
		names = append(names, "StorageClass "+c.Name)
	}

	attributes := r.attributesClasses()
	for _, c := range attributes {
		names = append(names, "VolumeAttributesClass "+c.Name)
	}

	what := "makes no class: none is needed"
	if len(names) > 0 {
		what = "makes " + strings.Join(names, ", ")
	}

	return steps.Step{
		Name: "classes", What: what, Checks: "a class of that name has the plan's figures",
		Undoes: "leaves the classes: volumes may have them",
		Do: func(ctx context.Context) error {
			var errs []error
			for _, c := range r.state.Change.Classes {
				errs = append(errs, ensure(ctx, r, cluster.StorageClasses, c.Name, c.DeepCopy(),
					func(is *storagev1.StorageClass) bool {
						return is.Provisioner == c.Provisioner && maps.Equal(is.Parameters, c.Parameters)
					}))
			}

			for _, c := range attributes {
				err := ensure(ctx, r, cluster.AttributesClasses, c.Name, c.DeepCopy(),
					func(is *storagev1.VolumeAttributesClass) bool {
						return is.DriverName == c.DriverName && maps.Equal(is.Parameters, c.Parameters)
					})
				if cluster.IsMissing(err) {
					err = errors.New("the cluster has no VolumeAttributesClasses (storage.k8s.io/v1, from Kubernetes 1.34 on)")
				}
				errs = append(errs, err)
			}

			return together(errs)
		},
	}
}

// attributesClasses are those to make: the new ones, and for claims that have none yet one with the
// figures of before.
func (r *Rollout) attributesClasses() (out []*storagev1.VolumeAttributesClass) {
	for k := range r.state.Change.Claims {
		ch := &r.state.Change.Claims[k]
		if ch.Attributes == nil {
			continue
		}
		out = append(out, ch.Attributes)
		for i := range discover.Replicas(r.state.Before) {
			if concerns(ch, i) && r.state.Had[r.claimOf(ch.Template, i)] == "" {
				out = append(out, ch.Old)
				break
			}
		}
	}
	return out
}

// ensure makes a class, unless there is one of its name that is the same.
func ensure[T any](ctx context.Context, r *Rollout, kind cluster.Kind[T], name string, object *T,
	same func(*T) bool) error {
	_, err := kind.Create(ctx, r.c, "", object, false)
	if err == nil {
		r.point("made " + name)
	}
	if !cluster.IsThere(err) {
		return err
	}
	is, err := kind.Get(ctx, r.c, "", name)
	if err == nil && !same(is) {
		err = fmt.Errorf("%s %s exists with other parameters", kind, name)
	}
	return err
}

// claim changes a member's claim in place.
func (r *Rollout) claim(ch *emit.ClaimChange, member int) steps.Step {
	name := r.claimOf(ch.Template, member)
	var what, undo []string
	class, old := "", ""

	if ch.Attributes != nil {
		class, old = ch.Attributes.Name, r.state.Had[name]
		back := "gives it back the class " + old
		if old == "" {
			old = ch.Old.Name
			back = "gives it the class " + old +
				", which has the figures of before (a claim that has a class cannot be without one again)"
		}
		what, undo = append(what, "gives it the class "+class), append(undo, back)
	}

	if ch.Size != nil {
		what, undo = append(what, "lets it grow to "+ch.Size.String()),
			append(undo, "leaves its size: no volume becomes smaller")
	}

	return steps.Step{
		Name: name, Member: r.pod(member),
		What:   "claim " + name + ": " + strings.Join(what, ", and "),
		Needs:  "every pod is ready, the claim is bound, and nothing else changes its volume",
		Checks: "the claim's status has the new class and size, and pod " + r.pod(member) + " is ready",
		Undoes: strings.Join(undo, "; "),
		Require: func(ctx context.Context) error {
			o, err := r.objects(ctx)
			if err != nil {
				return err
			}
			claim := o.Claims[name]
			out := append(r.unready(o), r.bound(o, ch.Template, member)...)
			if claim != nil {
				out = append(out, changeable(ch.Size != nil, claim, o))
			}
			return together(out)
		},
		Do: func(ctx context.Context) error {
			return r.change(ctx, name, []string{r.state.Had[name], old}, class, ch.Size)
		},
		Check: func(ctx context.Context) error { return r.awaitReady(ctx, member, nil, nil) },
		Undo: func(ctx context.Context) error {
			if class == "" {
				return nil
			}
			return r.change(ctx, name, []string{class}, old, nil)
		},
	}
}

// change gives a claim a class in the place of one of those that this rollout knows ("" is none), lets
// it grow, and waits until its volume has both. "" and nil leave what there is.
func (r *Rollout) change(ctx context.Context, name string, from []string, class string,
	size *resource.Quantity) error {
	err := r.retry(func() error { return r.patch(ctx, name, from, class, size) })
	if err != nil {
		return err
	}

	return cluster.Wait(ctx, r.opt.Every, r.opt.Patience, func(ctx context.Context) (string, error) {
		is, err := cluster.Claims.Get(ctx, r.c, r.at.Namespace, name)
		if err != nil {
			return "", err
		}

		if m := is.Status.ModifyVolumeStatus; m != nil &&
			m.Status == corev1.PersistentVolumeClaimModifyVolumeInfeasible &&
			m.TargetVolumeAttributesClassName == class {
			return "", steps.Inputf("kubectl describe pvc "+name+" -n "+r.at.Namespace+" says why",
				"the driver cannot give claim %s the class %s", name, m.TargetVolumeAttributesClassName)
		}

		resize := is.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
		if resize == corev1.PersistentVolumeClaimControllerResizeInfeasible ||
			resize == corev1.PersistentVolumeClaimNodeResizeInfeasible {
			return "", steps.Inputf("kubectl describe pvc "+name+" -n "+r.at.Namespace+" says why",
				"the driver cannot let claim %s grow", name)
		}

		if now := nameOf(is.Status.CurrentVolumeAttributesClassName); class != "" &&
			nameOf(is.Spec.VolumeAttributesClassName) == class && now != class {
			return fmt.Sprintf("claim %s does not have the class %s yet: is its driver's resizer running, and can it modify volumes?",
				name, class), nil
		}

		if has := is.Status.Capacity[corev1.ResourceStorage]; size != nil && has.Cmp(*size) < 0 {
			return fmt.Sprintf("claim %s has grown to %s, not to %s yet", name, has.String(), size.String()), nil
		}

		return "", nil
	})
}

// patch changes a claim's specification, unless it is so already, or somebody else gave it a class.
func (r *Rollout) patch(ctx context.Context, name string, from []string, class string,
	size *resource.Quantity) error {
	claim, err := cluster.Claims.Get(ctx, r.c, r.at.Namespace, name)
	if err != nil {
		return err
	}

	spec := map[string]any{}
	if has := nameOf(claim.Spec.VolumeAttributesClassName); class != "" && has != class {
		switch {
		case has == "" && !slices.Contains(from, ""):
			return nil // it goes back, and was never changed
		case !slices.Contains(from, has):
			return fmt.Errorf("somebody else gave claim %s the class %s meanwhile", name, has)
		}
		spec["volumeAttributesClassName"] = class
	}

	if asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]; size != nil && asked.Cmp(*size) < 0 {
		spec["resources"] = map[string]any{"requests": map[string]any{"storage": size.String()}}
	}

	if len(spec) == 0 {
		return nil
	}

	_, err = cluster.Claims.Merge(ctx, r.c, r.at.Namespace, name,
		map[string]any{"metadata": map[string]any{"resourceVersion": claim.ResourceVersion}, "spec": spec})
	if err == nil {
		r.point("patched " + name)
	}

	return err
}

// retry repeats what reads an object and writes it again, if somebody else wrote it in between:
// controllers write the status of what they control at any time.
func (r *Rollout) retry(write func() error) error {
	const most = 10
	var err error
	for range most {
		if err = write(); !cluster.IsConflict(err) {
			return err
		}
	}
	return fmt.Errorf("somebody else writes it all the time: %w", err)
}

// nameOf is a name that may be missing.
func nameOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// objects reads the set with all that belongs to it.
func (r *Rollout) objects(ctx context.Context) (*discover.Objects, error) {
	set, err := cluster.StatefulSets.Get(ctx, r.c, r.at.Namespace, r.at.Name)
	if err != nil {
		return nil, err
	}
	return discover.Read(ctx, r.c, set)
}
