package kubeclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"plimsoll/internal/record/httpclient"
)

// An AccessError says why a cluster cannot be used and what to do about it.
type AccessError struct {
	Text, Next string
	err        error
}

func (e *AccessError) Error() string { return e.Text }
func (e *AccessError) Unwrap() error { return e.err }

// Hint returns what to do next.
func (e *AccessError) Hint() string { return e.Next }

// A DeniedError names a missing permission.
type DeniedError struct {
	Verb      string // RBAC's name: "list"
	Resource  string // with its group: "statefulsets.apps"
	Namespace string // "" for resources of the whole cluster
	err       error
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("no permission to %s %s%s", e.Verb, e.Resource, e.where())
}

func (e *DeniedError) Unwrap() error { return e.err }

// Hint returns how to check the permissions.
func (e *DeniedError) Hint() string {
	in := ""
	if e.Namespace != "" {
		in = " -n " + e.Namespace
	}
	return fmt.Sprintf("kubectl auth can-i %s %s%s checks the permission; docs/kubernetes.md has a sufficient role",
		e.Verb, e.Resource, in)
}

func (e *DeniedError) where() string {
	if e.Namespace == "" {
		return " in the whole cluster"
	}
	return " in namespace " + e.Namespace
}

// IsMissing reports whether an object does not exist.
func IsMissing(err error) bool { return apierrors.IsNotFound(err) }

// IsConflict reports whether another client changed or replaced an object since it was read.
func IsConflict(err error) bool { return apierrors.IsConflict(err) }

// IsThere reports whether an object to be created already exists.
func IsThere(err error) bool { return apierrors.IsAlreadyExists(err) }

// IsDenied reports whether a permission is missing.
func IsDenied(err error) bool {
	var denied *DeniedError
	return errors.As(err, &denied)
}

// transient reports whether an error may go away soon: the server restarts, or is busy.
func transient(err error) bool {
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return errors.As(err, new(*url.Error)) // a failed connection
	}
	return apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}

func timedOut(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// attempts is the number of attempts that client-go makes when a server throttles (rest.Request,
// maxRetries: 10 after the first).
const attempts = 11

// explain turns the server's refusals into errors with a hint.
func (c *Client) explain(verb, resource, namespace, name string, err error) error {
	what := strings.TrimSpace(verb + " " + resource + " " + name)
	var large *httpclient.TooLargeError
	switch {
	case err == nil:
		return nil
	// An exceeded quota is also Forbidden, but no permission would help.
	case apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "exceeded quota"):
		return &DeniedError{Verb: verb, Resource: resource, Namespace: namespace, err: err}
	case apierrors.IsUnauthorized(err):
		return &AccessError{Text: fmt.Sprintf("the cluster at %s does not accept the credentials: they are invalid or have expired",
			c.Host), Next: "check with kubectl get pods; log in to the cluster again", err: err}
	case apierrors.IsTooManyRequests(err):
		return &AccessError{Text: fmt.Sprintf("%s: the cluster at %s throttles requests even after %d attempts with the waits that it asked for",
			what, c.Host, attempts),
			Next: "try again later: other clients use up its request rate (API priority and fairness)", err: err}
	case errors.As(err, &large):
		return fmt.Errorf("%s: the cluster at %s: %w: is this a Kubernetes API server?", what, c.Host, large)
	case errors.Is(err, context.DeadlineExceeded), timedOut(err):
		return fmt.Errorf("%s: no answer from the cluster at %s in time: check the network and the load of the API server",
			what, c.Host)
	// The server was reached, so its own message is returned.
	case apierrors.ReasonForError(err) != "":
		return fmt.Errorf("%s: %w", what, err)
	}

	return fmt.Errorf("%s: cannot reach the cluster at %s: %w", what, c.Host, err)
}
