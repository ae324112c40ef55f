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
	"plimsoll/internal/record/kubeclient"
)

// classes creates the classes for the claims. A rollout never changes or removes a class, because
// volumes may use it.
func (r *Rollout) classes() steps.Step {
	var names []string
	for _, c := range r.state.Change.Classes {
		names = append(names, "StorageClass "+c.Name)
	}

	attributes := r.attributesClasses()
	for _, c := range attributes {
		names = append(names, "VolumeAttributesClass "+c.Name)
	}

	what := "creates no class: none is needed"
	if len(names) > 0 {
		what = "creates " + strings.Join(names, ", ")
	}

	return steps.Step{
		Name: "classes", What: what, Checks: "each class has the plan's parameters",
		Undoes: "keeps the classes: volumes may use them",
		Do: func(ctx context.Context) error {
			var errs []error
			for _, c := range r.state.Change.Classes {
				errs = append(errs, ensure(ctx, r, kubeclient.StorageClasses, c.Name, c.DeepCopy(),
					func(is *storagev1.StorageClass) bool {
						return is.Provisioner == c.Provisioner && maps.Equal(is.Parameters, c.Parameters)
					}))
			}

			for _, c := range attributes {
				err := ensure(ctx, r, kubeclient.AttributesClasses, c.Name, c.DeepCopy(),
					func(is *storagev1.VolumeAttributesClass) bool {
						return is.DriverName == c.DriverName && maps.Equal(is.Parameters, c.Parameters)
					})
				if kubeclient.IsMissing(err) {
					err = errors.New("the cluster does not support VolumeAttributesClasses (storage.k8s.io/v1, since Kubernetes 1.34)")
				}
				errs = append(errs, err)
			}

			return together(errs)
		},
	}
}

// attributesClasses returns the classes to create: the new ones and, for claims without a class, one with
// the original parameters. Undo needs it, because a claim cannot go back to having no class.
func (r *Rollout) attributesClasses() (out []*storagev1.VolumeAttributesClass) {
	for k := range r.state.Change.Claims {
		ch := &r.state.Change.Claims[k]
		if ch.Attributes == nil {
			continue
		}
		out = append(out, ch.Attributes)
		for i := range emit.Replicas(r.state.Before) {
			if concerns(ch, i) && r.state.Had[r.claimOf(ch.Template, i)] == "" {
				out = append(out, ch.Old)
				break
			}
		}
	}
	return out
}

// ensure creates a class. It accepts an existing class of that name if it is the same.
func ensure[T any](ctx context.Context, r *Rollout, kind kubeclient.Kind[T], name string, object *T,
	same func(*T) bool) error {
	_, err := kind.Create(ctx, r.c, "", object, false)
	if err == nil {
		r.point("made " + name)
	}
	// Create first and read only on conflict: reading first would race with other creators.
	if !kubeclient.IsThere(err) {
		return err
	}
	is, err := kind.Get(ctx, r.c, "", name)
	if err == nil && !same(is) {
		err = fmt.Errorf("%s %s exists with different parameters", kind, name)
	}
	return err
}

// claim returns the step that changes a member's claim in place.
func (r *Rollout) claim(ch *emit.ClaimChange, member int) steps.Step {
	name := r.claimOf(ch.Template, member)
	var what, undo []string
	class, old := "", ""

	if ch.Attributes != nil {
		class, old = ch.Attributes.Name, r.state.Had[name]
		back := "restores its class " + old
		if old == "" {
			old = ch.Old.Name
			back = "gives it the class " + old +
				", which has the original parameters (a claim cannot lose its class again)"
		}
		what, undo = append(what, "gives it the class "+class), append(undo, back)
	}

	if ch.Size != nil {
		what, undo = append(what, "lets it grow to "+ch.Size.String()),
			append(undo, "keeps its size: volumes cannot shrink")
	}

	return steps.Step{
		Name: name, Member: r.pod(member),
		What:   "claim " + name + ": " + strings.Join(what, ", and "),
		Needs:  "every pod is ready, the claim is bound, and its volume is not being modified",
		Checks: "the claim's status has the new class and size, and pod " + r.pod(member) + " is ready",
		Undoes: strings.Join(undo, "; "),
		Require: r.checking(func(o *discover.Objects) []error {
			out := append(r.unready(o), r.bound(o, ch.Template, member)...)
			if claim := o.Claims[name]; claim != nil {
				out = append(out, changeable(ch.Size != nil, claim, o))
			}
			return out
		}),
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

// change replaces a claim's class, which must be one of from ("" means none), enlarges the claim, and
// waits until its volume has the new class and size. An empty class or a nil size changes nothing.
func (r *Rollout) change(ctx context.Context, name string, from []string, class string,
	size *resource.Quantity) error {
	err := r.retry(func() error { return r.patch(ctx, name, from, class, size) })
	if err != nil {
		return err
	}

	return kubeclient.Wait(ctx, r.opt.Every, r.opt.Patience, func(ctx context.Context) (string, error) {
		is, err := kubeclient.Claims.Get(ctx, r.c, r.at.Namespace, name)
		if err != nil {
			return "", err
		}

		if m := is.Status.ModifyVolumeStatus; m != nil &&
			m.Status == corev1.PersistentVolumeClaimModifyVolumeInfeasible &&
			m.TargetVolumeAttributesClassName == class {
			return "", steps.Inputf("for the reason, run kubectl describe pvc "+name+" -n "+r.at.Namespace,
				"the driver cannot give claim %s the class %s", name, m.TargetVolumeAttributesClassName)
		}

		resize := is.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
		if resize == corev1.PersistentVolumeClaimControllerResizeInfeasible ||
			resize == corev1.PersistentVolumeClaimNodeResizeInfeasible {
			return "", steps.Inputf("for the reason, run kubectl describe pvc "+name+" -n "+r.at.Namespace,
				"the driver cannot enlarge claim %s", name)
		}

		if now := nameOf(is.Status.CurrentVolumeAttributesClassName); class != "" &&
			nameOf(is.Spec.VolumeAttributesClassName) == class && now != class {
			return fmt.Sprintf("claim %s does not have the class %s yet: is the CSI driver's resizer running, and does it support modifying volumes?",
				name, class), nil
		}

		if has := is.Status.Capacity[corev1.ResourceStorage]; size != nil && has.Cmp(*size) < 0 {
			return fmt.Sprintf("claim %s has grown to %s, not to %s yet", name, has.String(), size.String()), nil
		}

		return "", nil
	})
}

// patch changes a claim's specification if needed. It fails if the claim's class was changed outside this
// rollout.
func (r *Rollout) patch(ctx context.Context, name string, from []string, class string,
	size *resource.Quantity) error {
	claim, err := kubeclient.Claims.Get(ctx, r.c, r.at.Namespace, name)
	if err != nil {
		return err
	}

	spec := map[string]any{}
	if has := nameOf(claim.Spec.VolumeAttributesClassName); class != "" && has != class {
		switch {
		// from has the classes that this rollout may replace.
		case has == "" && !slices.Contains(from, ""):
			return nil // an undo, and the claim was never changed
		case !slices.Contains(from, has):
			return fmt.Errorf("claim %s was given the class %s outside this rollout", name, has)
		}
		spec["volumeAttributesClassName"] = class
	}

	if asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]; size != nil && asked.Cmp(*size) < 0 {
		spec["resources"] = map[string]any{"requests": map[string]any{"storage": size.String()}}
	}

	if len(spec) == 0 {
		return nil
	}

	_, err = kubeclient.Claims.Merge(ctx, r.c, r.at.Namespace, name,
		map[string]any{"metadata": map[string]any{"resourceVersion": claim.ResourceVersion}, "spec": spec})
	if err == nil {
		r.point("patched " + name)
	}

	return err
}

// retry repeats a read-modify-write of an object after conflicts: controllers may write the status of
// their objects at any time.
func (r *Rollout) retry(write func() error) error {
	const most = 10
	var err error
	for range most {
		if err = write(); !kubeclient.IsConflict(err) {
			return err
		}
	}
	return fmt.Errorf("it keeps being changed concurrently: %w", err)
}

// nameOf returns an optional name, or "".
func nameOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// objects reads the set with its pods, claims, volumes, nodes and classes.
func (r *Rollout) objects(ctx context.Context) (*discover.Objects, error) {
	set, err := kubeclient.StatefulSets.Get(ctx, r.c, r.at.Namespace, r.at.Name)
	if err != nil {
		return nil, err
	}
	return discover.Read(ctx, r.c, set)
}

// checking returns a step's check of the objects, which fails with all the errors that it finds.
func (r *Rollout) checking(check func(*discover.Objects) []error) func(context.Context) error {
	return func(ctx context.Context) error {
		o, err := r.objects(ctx)
		if err != nil {
			return err
		}
		return together(check(o))
	}
}
