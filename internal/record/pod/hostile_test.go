package pod_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/record/pod"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// The claim names of a pod are validated before any request, and each is requested once.
func TestClaimsOfAPod(t *testing.T) {
	for name, x := range map[string]struct {
		claims []string
		asked  int
		want   string
	}{
		"another address": {[]string{"../../../secrets/s"}, 0, `"../../../secrets/s" is not a valid name in Kubernetes`},
		"the same":        {strings.Split(strings.Repeat("data ", 1000)+"data", " "), 2, "has no CSI driver"},
		"very many":       {strings.Fields(numbered(1000)), 256, "more than 128 claims"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if strings.HasSuffix(r.URL.Path, "/pods/p-0") {
					var volumes []string
					for i, c := range x.claims {
						volumes = append(volumes, fmt.Sprintf(`{"name":"v%d","persistentVolumeClaim":{"claimName":%q}}`, i, c))
					}
					fmt.Fprintf(w, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p-0"},"spec":{"volumes":[%s]}}`, strings.Join(volumes, ","))
					return
				}
				asked = append(asked, r.URL.Path)
				fmt.Fprint(w, `{"metadata":{"name":"x"},"spec":{"volumeName":"v"}}`)
			}))

			defer server.Close()
			path := filepath.Join(t.TempDir(), "kubeconfig")
			config := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"" + server.URL + "\"}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {cluster: c, user: u, namespace: db}}]\ncurrent-context: c\n"

			if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}

			t.Setenv("KUBECONFIG", path)
			s, err := pod.Cloud{}.Open(t.Context(), "k8s://db/p-0")
			if err != nil {
				t.Fatal(err)
			}

			err = s.Read(t.Context(), recording.NewMemory(recording.MemoryOptions{}), source.Options{})
			if err == nil || !strings.Contains(err.Error(), x.want) || len(asked) != x.asked {
				t.Errorf("%.300v; %d requests", err, len(asked))
			}
		})
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "data-%d ", i)
	}
	return b.String()
}
