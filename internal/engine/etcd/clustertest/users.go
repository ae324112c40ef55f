//go:build linux

package clustertest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/record/kubeclient"
)

// auditPolicy makes the server log every change.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata, verbs: [create, update, patch, delete, deletecollection]}]
`

func (s *Server) auditLog() string { return filepath.Join(s.Dir, "audit.log") }

// As returns a client for the user with this name, who has the permissions that a test grants.
func (s *Server) As(t testing.TB, user, namespace string) *kubeclient.Client {
	t.Helper()
	c, err := kubeclient.Open(kubeclient.Options{
		Kubeconfig: s.kubeconfig(t, "token: "+Admin+", as: "+user, namespace),
		PerSecond:  perSecond, Within: patience})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Grant gives a user the permissions of the rules, and waits until they take effect.
func (s *Server) Grant(t testing.TB, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	ctx, admin := t.Context(), s.Client(t, Admin, ns)
	if _, err := ClusterRoles.Create(ctx, admin, "",
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}, false); err != nil {
		t.Fatal(err)
	}

	if _, err := ClusterRoleBindings.Create(ctx, admin, "", &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}, false); err != nil {
		t.Fatal(err)
	}

	c := s.As(t, user, ns)
	last := rules[len(rules)-1]
	kind := kubeclient.NewKind[rbacv1.Role](last.APIGroups[0], "v1", "", last.Resources[0], true)

	err := kubeclient.Wait(ctx, 20*time.Millisecond, patience, func(ctx context.Context) (string, error) {
		err := kind.Allowed(ctx, c, last.Verbs[0], ns, "")
		if kubeclient.IsDenied(err) {
			return err.Error(), nil
		}
		return "", err
	})
	if err != nil {
		t.Fatalf("the permissions of %s have not taken effect: %v", user, err)
	}
}

// RulesIn returns the rules of the roles in a page of the documentation.
func RulesIn(t testing.TB, page string) (out []rbacv1.PolicyRule) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		role := &rbacv1.ClusterRole{}
		if !strings.Contains(block, "kind: ClusterRole\n") {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(block), role); err != nil {
			t.Fatal(err)
		}
		out = append(out, role.Rules...)
	}

	return out
}

// Changes are a user's changes, in order: "delete pods/db-0". Dry runs and rejected requests are not
// changes.
func (s *Server) Changes(t testing.TB, user string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(s.auditLog())
	if err != nil {
		t.Fatal(err)
	}

	for line := range bytes.Lines(text) {
		var e struct {
			Verb, RequestURI string
			ImpersonatedUser struct{ Username string }
			ObjectRef        struct{ Resource, Name, Subresource string }
			ResponseStatus   struct{ Code int }
		}

		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}

		if e.ImpersonatedUser.Username != user || e.ResponseStatus.Code >= 300 ||
			strings.Contains(e.RequestURI, "dryRun=") || e.ObjectRef.Resource == "selfsubjectaccessreviews" {
			continue
		}

		out = append(out, e.Verb+" "+strings.Trim(e.ObjectRef.Resource+"/"+e.ObjectRef.Name+"/"+
			e.ObjectRef.Subresource, "/"))
	}

	return out
}
