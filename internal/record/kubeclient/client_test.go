package kubeclient_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/record/kubeclient"
)

// The error for a missing kubeconfig names the file, instead of saying that nothing is configured.
func TestKubeconfig(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	here := filepath.Join(dir, "empty")

	if err := os.WriteFile(here, []byte("apiVersion: v1\nkind: Config\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	both := strings.Join([]string{"/nowhere/a", "/nowhere/b"}, string(os.PathListSeparator))
	for name, x := range map[string]struct{ variable, flag, want, next string }{
		"nothing":            {"", "", "no Kubernetes cluster is configured", "--kubeconfig FILE"},
		"the variable":       {"/nowhere/a", "", "KUBECONFIG names /nowhere/a, which does not exist", "unset it"},
		"a list of them":     {both, "", "KUBECONFIG names /nowhere/a, /nowhere/b, none of which exists", "unset it"},
		"one that is empty":  {here, "", "no Kubernetes cluster is configured", "--kubeconfig FILE"},
		"the flag":           {"", "/nowhere/c", "the kubeconfig /nowhere/c does not exist", "omit it"},
		"the flag before it": {"/nowhere/a", "/nowhere/c", "the kubeconfig /nowhere/c does not exist", "omit it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", x.variable)
			_, err := kubeclient.Open(kubeclient.Options{Kubeconfig: x.flag})
			if err == nil || err.Error() != x.want {
				t.Fatalf("%v, not %s", err, x.want)
			}
			if hint := err.(interface{ Hint() string }).Hint(); !strings.Contains(hint, x.next) {
				t.Errorf("hint: %s", hint)
			}
		})
	}
}

// Requests to a busy server are retried with waits. If it stays busy, the error says so.
func TestThrottled(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "0")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too many requests, please try again later","reason":"TooManyRequests","details":{"retryAfterSeconds":0},"code":429}`))
	}))

	defer server.Close()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"" + server.URL + "\"}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {cluster: c, user: u, namespace: db}}]\ncurrent-context: c\n"

	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}

	c, err := kubeclient.Open(kubeclient.Options{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}

	_, err = kubeclient.Pods.Get(t.Context(), c, "db", "mongo-0")
	if err == nil || !strings.HasPrefix(err.Error(), "get pods mongo-0: the cluster at 127.0.0.1:") || !strings.Contains(err.Error(), " throttles requests") {
		t.Errorf("%v", err)
	}

	if asked != 11 {
		t.Errorf("it was asked %d times, and says 11", asked)
	}
}
