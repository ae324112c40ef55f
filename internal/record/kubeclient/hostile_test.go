package kubeclient_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/kubeclient"
)

// opened returns a client of a server that treats all requests alike.
func opened(t *testing.T, within time.Duration, h http.HandlerFunc) *kubeclient.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"" + server.URL + "\"}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {cluster: c, user: u, namespace: db}}]\ncurrent-context: c\n"
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := kubeclient.Open(kubeclient.Options{Kubeconfig: path, Within: within, PerSecond: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A list is bounded, in one response and over all pages.
func TestListIsBounded(t *testing.T) {
	item := `{"metadata":{"name":"x","annotations":{"a":"` + strings.Repeat("a", 40_000) + `"}}}`
	page := `{"metadata":{"continue":"more"},"items":[` + strings.Repeat(item+",", 99) + item + `]}`

	empty := `{"metadata":{"continue":"more"},"items":[` + strings.Repeat("{},", 200_000) + `{}]}`
	for name, x := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   string
	}{
		"one answer":    {func(w http.ResponseWriter) { endless(w, []byte(strings.Repeat(" ", 1<<16))) }, "larger than 33554432 bytes"},
		"empty objects": {func(w http.ResponseWriter) { endless(w, []byte(strings.Repeat("{},", 1<<14))) }, "larger than 300000 JSON objects"},
		"pages":         {func(w http.ResponseWriter) { fmt.Fprint(w, page) }, "larger than 134217728 bytes including the previous ones"},
		"empty pages":   {func(w http.ResponseWriter) { fmt.Fprint(w, empty) }, "larger than 1000000 JSON objects including the previous ones"},
	} {
		c := opened(t, 0, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			x.answer(w)
		})
		_, err := kubeclient.Pods.List(t.Context(), c, "db", "")
		if err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), c.Host) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func endless(w http.ResponseWriter, text []byte) {
	for {
		if _, err := w.Write(text); err != nil {
			return
		}
	}
}

// The error of a server that does not answer names it.
func TestSilent(t *testing.T) {
	over := make(chan struct{})
	c := opened(t, 50*time.Millisecond, func(http.ResponseWriter, *http.Request) { <-over })
	_, err := kubeclient.Pods.Get(t.Context(), c, "db", "mongo-0")
	close(over)
	if err == nil || err.Error() != "get pods mongo-0: no answer from the cluster at "+c.Host+" in time: check the network and the load of the API server" {
		t.Error(err)
	}
}

// A name that would address another object is not requested, and a redirect is not followed.
func TestNamesAreSegments(t *testing.T) {
	var asked []string
	c := opened(t, 0, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})

	for _, name := range []string{"../../../secrets/s", "..", ".", "a/b", "a%2fb", ""} {
		if _, err := kubeclient.Claims.Get(t.Context(), c, "db", name); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
		if _, err := kubeclient.Pods.List(t.Context(), c, name, ""); err == nil {
			t.Errorf("%q is taken for a namespace", name)
		}
	}

	if len(asked) > 0 {
		t.Error("requested:", asked)
	}

	if _, err := kubeclient.Claims.Get(t.Context(), c, "db", "data-0"); err == nil || len(asked) != 1 {
		t.Errorf("%v; requested: %s", err, asked)
	}
}
