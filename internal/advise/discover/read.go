package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/record/kubeclient"
)

// An InputError is an error in the user's input, with a hint on how to fix it.
type InputError struct{ Text, Next string }

func (e *InputError) Error() string { return e.Text }

// Hint returns what to do.
func (e *InputError) Hint() string { return e.Next }

// BadInput marks it as an error in the user's input.
func (e *InputError) BadInput() {}

func inputf(next, format string, args ...any) error {
	return &InputError{Text: fmt.Sprintf(format, args...), Next: next}
}

// Objects are a StatefulSet and its related objects in the cluster.
type Objects struct {
	Set *appsv1.StatefulSet
	// Pods are the set's pods by ordinal; nil for missing ones.
	Pods []*corev1.Pod
	// The related objects by name, without those that may not be read.
	Claims     map[string]*corev1.PersistentVolumeClaim
	Volumes    map[string]*corev1.PersistentVolume
	Classes    map[string]*storagev1.StorageClass
	Attributes map[string]*storagev1.VolumeAttributesClass
	Nodes      map[string]*corev1.Node
	ConfigMaps map[string]*corev1.ConfigMap
	// Denied are the missing permissions, without duplicates: "get nodes".
	Denied []string
}

// Address is the address of a StatefulSet: k8s://NAMESPACE/NAME.
type Address struct{ Namespace, Name string }

// scheme is the prefix of an address.
const scheme = "k8s://"

// ParseAddress parses k8s://NAMESPACE/NAME, or k8s://NAME for the context's namespace.
func ParseAddress(text string) (Address, error) {
	rest, ok := strings.CutPrefix(text, scheme)
	namespace, name, both := strings.Cut(strings.TrimSuffix(rest, "/"), "/")
	if !both {
		namespace, name = "", namespace
	}
	if !ok || name == "" || both && namespace == "" || strings.ContainsAny(name, "/ ") {
		return Address{}, inputf("for example k8s://db/store",
			"%q is not the address of a StatefulSet: want k8s://NAMESPACE/NAME", text)
	}
	return Address{namespace, name}, nil
}

// String returns the address in the form that ParseAddress accepts.
func (a Address) String() string { return scheme + path.Join(a.Namespace, a.Name) }

// Find reads a StatefulSet. If there is none of that name, the error lists similar ones.
func Find(ctx context.Context, c *kubeclient.Client, at Address) (*appsv1.StatefulSet, error) {
	set, err := kubeclient.StatefulSets.Get(ctx, c, at.Namespace, at.Name)
	if !kubeclient.IsMissing(err) {
		return set, err
	}

	all, listErr := kubeclient.StatefulSets.List(ctx, c, at.Namespace, "")
	if listErr != nil {
		return nil, errors.Join(err, listErr)
	}

	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}

	if len(names) == 0 {
		return nil, inputf("list them with kubectl get statefulsets -A",
			"no StatefulSet in namespace %s", at.Namespace)
	}

	// The nearest names first: the user probably mistyped one.
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(inputerror.Distance(a, at.Name), inputerror.Distance(b, at.Name))
	})
	const most = 5
	return nil, inputf("it has "+strings.Join(names[:min(len(names), most)], ", "),
		"no StatefulSet %s in namespace %s", at.Name, at.Namespace)
}

// ClaimName returns the name of the claim that a set's pod gets from a template.
func ClaimName(template string, set *appsv1.StatefulSet, ordinal int) string {
	return fmt.Sprintf("%s-%s-%d", template, set.Name, ordinal)
}

// Read reads a set's related objects. Pods and claims must be readable; for the other objects, it collects
// missing permissions in Denied.
func Read(ctx context.Context, client *kubeclient.Client, set *appsv1.StatefulSet) (*Objects, error) {
	objects := &Objects{
		Set: set, Pods: make([]*corev1.Pod, emit.Replicas(set)), Claims: map[string]*corev1.PersistentVolumeClaim{},
		Volumes: map[string]*corev1.PersistentVolume{}, Classes: map[string]*storagev1.StorageClass{},
		Attributes: map[string]*storagev1.VolumeAttributesClass{}, Nodes: map[string]*corev1.Node{},
		ConfigMaps: map[string]*corev1.ConfigMap{},
	}

	ns := set.Namespace
	for i := range objects.Pods {
		pod, err := kubeclient.Pods.Get(ctx, client, ns, fmt.Sprintf("%s-%d", set.Name, emit.FirstOrdinal(set)+i))
		if kubeclient.IsMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		objects.Pods[i] = pod
		if err := optional(ctx, client, objects, kubeclient.Nodes, objects.Nodes, "",
			pod.Spec.NodeName); err != nil {
			return nil, err
		}
	}

	for i := range set.Spec.VolumeClaimTemplates {
		for k := range objects.Pods {
			name := ClaimName(set.Spec.VolumeClaimTemplates[i].Name, set, emit.FirstOrdinal(set)+k)
			claim, err := kubeclient.Claims.Get(ctx, client, ns, name)

			// A pod may be missing while it is recreated.
			if kubeclient.IsMissing(err) {
				continue
			}

			if err != nil {
				return nil, err
			}

			objects.Claims[name] = claim
			if err := objects.readClaim(ctx, client, claim); err != nil {
				return nil, err
			}
		}
	}

	return objects, objects.readConfigMaps(ctx, client, ns)
}

// readClaim reads a claim's volume and classes.
func (o *Objects) readClaim(ctx context.Context, c *kubeclient.Client,
	claim *corev1.PersistentVolumeClaim) error {
	err := optional(ctx, c, o, kubeclient.Volumes, o.Volumes, "", claim.Spec.VolumeName)
	if name := claim.Spec.StorageClassName; err == nil && name != nil {
		err = optional(ctx, c, o, kubeclient.StorageClasses, o.Classes, "", *name)
	}
	if name := claim.Status.CurrentVolumeAttributesClassName; err == nil && name != nil {
		err = optional(ctx, c, o, kubeclient.AttributesClasses, o.Attributes, "", *name)
	}
	return err
}

// readConfigMaps reads the ConfigMaps that the set's containers mount or take variables from.
func (o *Objects) readConfigMaps(ctx context.Context, c *kubeclient.Client, ns string) error {
	var names []string
	spec := &o.Set.Spec.Template.Spec
	for _, v := range spec.Volumes {
		if v.ConfigMap != nil {
			names = append(names, v.ConfigMap.Name)
		}
	}

	for i := range spec.Containers {
		for _, from := range spec.Containers[i].EnvFrom {
			if from.ConfigMapRef != nil {
				names = append(names, from.ConfigMapRef.Name)
			}
		}
		for _, e := range spec.Containers[i].Env {
			if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
				names = append(names, e.ValueFrom.ConfigMapKeyRef.Name)
			}
		}
	}

	for _, name := range names {
		if err := optional(ctx, c, o, kubeclient.ConfigMaps, o.ConfigMaps, ns, name); err != nil {
			return err
		}
	}

	return nil
}

// optional reads an object that is not essential.
func optional[T any](ctx context.Context, c *kubeclient.Client, o *Objects, kind kubeclient.Kind[T],
	into map[string]*T, ns, name string) error {
	if name == "" || into[name] != nil {
		return nil
	}

	object, err := kind.Get(ctx, c, ns, name)
	switch {
	case kubeclient.IsMissing(err):
		return nil
	// A missing permission only costs some values, so note it and continue.
	case kubeclient.IsDenied(err):
		if text := err.Error(); !slices.Contains(o.Denied, text) {
			o.Denied = append(o.Denied, text)
		}
		return nil
	case err != nil:
		return err
	}

	into[name] = object
	return nil
}

// Ready reports whether a pod is ready and not being deleted.
func Ready(p *corev1.Pod) bool {
	return p != nil && p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions,
		func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
}

// owner returns the controller of an object; "" if it has none.
func owner(o metav1.Object) string {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return ref.Kind + " " + ref.Name
	}
	return ""
}
