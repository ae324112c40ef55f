package kubeclient

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"plimsoll/internal/base/jsonerror"
	"plimsoll/internal/record/httpclient"
)

// A Kind is a kind of object, with its Go type.
type Kind[T any] struct {
	group, version, kind, resource string
	namespaced                     bool
}

// The kinds that concern a database's storage.
var (
	StatefulSets = Kind[appsv1.StatefulSet]{"apps", "v1", "StatefulSet", "statefulsets", true}
	Pods         = Kind[corev1.Pod]{"", "v1", "Pod", "pods", true}
	Claims       = Kind[corev1.PersistentVolumeClaim]{"", "v1", "PersistentVolumeClaim",
		"persistentvolumeclaims", true}
	ConfigMaps     = Kind[corev1.ConfigMap]{"", "v1", "ConfigMap", "configmaps", true}
	Volumes        = Kind[corev1.PersistentVolume]{"", "v1", "PersistentVolume", "persistentvolumes", false}
	Nodes          = Kind[corev1.Node]{"", "v1", "Node", "nodes", false}
	StorageClasses = Kind[storagev1.StorageClass]{"storage.k8s.io", "v1", "StorageClass",
		"storageclasses", false}
	AttributesClasses = Kind[storagev1.VolumeAttributesClass]{"storage.k8s.io", "v1", "VolumeAttributesClass",
		"volumeattributesclasses", false}

	reviews = Kind[authorizationv1.SelfSubjectAccessReview]{"authorization.k8s.io", "v1",
		"SelfSubjectAccessReview", "selfsubjectaccessreviews", false}
)

// NewKind returns another kind, for packages that need one that is not listed here.
func NewKind[T any](group, version, kind, resource string, namespaced bool) Kind[T] {
	return Kind[T]{group, version, kind, resource, namespaced}
}

// listPage is the number of objects in one page of a list.
const listPage = 100

// path returns the path of a kind's objects, or of one object. Names from the cluster, such as the
// claims of a pod, are validated: ../../../secrets/x would address another object.
func (k Kind[T]) path(namespace string, name ...string) ([]string, error) {
	out := []string{"api", k.version}
	if k.group != "" {
		out = []string{"apis", k.group, k.version}
	}

	if k.namespaced {
		if err := segment("namespace", namespace); err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out = append(out, "namespaces", namespace)
	}

	for _, n := range name {
		if err := segment("name", n); err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
	}

	return append(append(out, k.resource), name...), nil
}

// segment refuses a name that is not a single path segment.
func segment(what, name string) error {
	if name == "" {
		return fmt.Errorf("the %s is empty", what)
	}
	if problems := content.IsPathSegmentName(name); len(problems) > 0 {
		return fmt.Errorf("%.100q is not a valid %s in Kubernetes: it %s", name, what, problems[0])
	}
	return nil
}

// String returns the resource in RBAC's notation: "statefulsets.apps".
func (k Kind[T]) String() string {
	return strings.TrimSuffix(k.resource+"."+k.group, ".")
}

// send makes a request about the objects in a namespace, or about one of them, and returns the body of
// the answer. A body, unless it is nil, is sent as JSON.
func (k Kind[T]) send(ctx context.Context, c *Client, verb string, r *rest.Request, body any,
	namespace string, name ...string) ([]byte, error) {
	at, err := k.path(namespace, name...)
	if err != nil {
		return nil, err
	}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = r.Body(text)
	}

	answer := r.AbsPath(at...).Do(ctx)
	err = answer.Error()
	if err == nil {
		return answer.Raw()
	}
	if !k.namespaced {
		namespace = ""
	}
	object := ""
	if len(name) > 0 {
		object = name[0]
	}
	return nil, c.explain(verb, k.String(), namespace, object, err)
}

// asJSON marks the body of a request as JSON.
func asJSON(r *rest.Request) *rest.Request {
	return r.SetHeader("Content-Type", runtime.ContentTypeJSON)
}

// Get reads one object. namespace is ignored for kinds without one.
func (k Kind[T]) Get(ctx context.Context, c *Client, namespace, name string) (*T, error) {
	return k.decode(k.send(ctx, c, "get", c.rest.Get(), nil, namespace, name))
}

// List reads all objects with the given labels; "" means all objects.
func (k Kind[T]) List(ctx context.Context, c *Client, namespace, labels string) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()

	// The budget covers all pages, so that a huge list cannot exhaust the memory page by page.
	ctx = httpclient.WithBudget(ctx,
		httpclient.NewBudget(httpclient.Bounds{Bytes: listBytesMax, Objects: listObjectsMax}))

	var out []T
	for next := ""; ; {
		text, err := k.send(ctx, c, "list", c.rest.Get().Param("limit", fmt.Sprint(listPage)).
			Param("labelSelector", labels).Param("continue", next), nil, namespace)
		if err != nil {
			return nil, err
		}

		var page struct {
			metav1.ListMeta `json:"metadata"`
			Items           []T `json:"items"`
		}

		if err := json.Unmarshal(text, &page); err != nil {
			return nil, fmt.Errorf("%s: %w", k, jsonerror.Explain(text, err))
		}

		out = append(out, page.Items...)
		if next = page.Continue; next == "" {
			return out, nil
		}
	}
}

// Create creates an object. With try, the server validates it and fills in the defaults, but
// creates nothing.
func (k Kind[T]) Create(ctx context.Context, c *Client, namespace string, object *T, try bool) (*T, error) {
	r := asJSON(c.rest.Post())
	if try {
		r = r.Param("dryRun", metav1.DryRunAll)
	}
	return k.decode(k.send(ctx, c, "create", r, k.named(object), namespace))
}

// Update replaces an object, unless it changed since it was read ([IsConflict]).
func (k Kind[T]) Update(ctx context.Context, c *Client, namespace, name string, object *T) (*T, error) {
	return k.decode(k.send(ctx, c, "update", asJSON(c.rest.Put()), k.named(object), namespace, name))
}

// UpdateStatus replaces the status of an object, like a controller.
func (k Kind[T]) UpdateStatus(ctx context.Context, c *Client, namespace, name string, object *T) (*T, error) {
	return k.decode(k.send(ctx, c, "update", asJSON(c.rest.Put()), k.named(object), namespace, name, "status"))
}

// Merge changes fields of an object with a JSON merge patch. A resourceVersion in the patch makes
// it conditional.
func (k Kind[T]) Merge(ctx context.Context, c *Client, namespace, name string, patch any) (*T, error) {
	return k.decode(k.send(ctx, c, "patch", c.rest.Patch(types.MergePatchType), patch, namespace, name))
}

// Delete deletes the object with this UID, and no other object of the same name. With orphan, the
// objects that it owns remain.
func (k Kind[T]) Delete(ctx context.Context, c *Client, namespace, name string, uid types.UID,
	orphan bool) error {
	// The UID prevents deleting a new object that was created under the same name.
	how := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if orphan {
		keep := metav1.DeletePropagationOrphan
		how.PropagationPolicy = &keep
	}
	return k.remove(ctx, c, namespace, name, how)
}

// DeleteNow deletes the object with this UID immediately, like a kubelet that removes a terminated
// pod.
func (k Kind[T]) DeleteNow(ctx context.Context, c *Client, namespace, name string, uid types.UID) error {
	now := int64(0)
	return k.remove(ctx, c, namespace, name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, GracePeriodSeconds: &now})
}

func (k Kind[T]) remove(ctx context.Context, c *Client, namespace, name string,
	how metav1.DeleteOptions) error {
	how.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	_, err := k.send(ctx, c, "delete", asJSON(c.rest.Delete()), how, namespace, name)
	return err
}

// Allowed checks on the server whether the client may do something to an object of the kind; name
// "" means any object. If not, the error is a [*DeniedError]. If the client may not even ask,
// Allowed returns nil.
func (k Kind[T]) Allowed(ctx context.Context, c *Client, verb, namespace, name string) error {
	if !k.namespaced {
		namespace = ""
	}

	review, err := reviews.Create(ctx, c, "",
		&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: k.group, Version: k.version,
				Resource: k.resource, Namespace: namespace, Name: name},
		}}, false)

	switch {
	case IsDenied(err):
		return nil
	case err != nil:
		return err
	case !review.Status.Allowed:
		return &DeniedError{Verb: verb, Resource: k.String(), Namespace: namespace}
	}

	return nil
}

// named returns an object with its kind, which is missing in objects that were read in a list.
func (k Kind[T]) named(object *T) *T {
	if o, ok := any(object).(runtime.Object); ok {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Group: k.group, Version: k.version,
			Kind: k.kind})
	}
	return object
}

func (k Kind[T]) decode(text []byte, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	out := new(T)
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("%s: %w", k, jsonerror.Explain(text, err))
	}
	return out, nil
}
