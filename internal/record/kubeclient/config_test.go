package kubeclient

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/check/hostile"
)

// TestUnusableConfig reads kubeconfigs with mistakes: the message names the file and the mistake, and
// contains no decoder's message.
func TestUnusableConfig(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: [1": "line 1",
		"apiVersion: v1\nkind: Config\nclusters: 5": "clusters cannot be a number",
		"apiVersion: v1\nkind: Pod":                 "a Pod of v1",
		`{"clusters":[{"cluster":{"server":5}}]}`:   "clusters.cluster.server cannot be a number",
		"apiVersion: v1\nkind: Config\nusers: [{name: a, user: {client-certificate-data: \"!!\"}}]": "not in base64",
		"apiVersion: v9\nkind: Config\nclusters: []":                                                "a Config of v9",
		"- 1\n- 2":     "cannot be a",
		"\x00\x01\xff": "control characters",
		"5":            "cannot be a number",
		"apiVersion: v1\nkind: Config\ncurrent-context: zz\nclusters: [{name: c, cluster: {server: x}}]": "zz",
	} {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		_, err := Open(Options{Kubeconfig: path})
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		if word := hostile.Internal(err.Error()); word != "" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "scheme") {
			t.Errorf("%q: want %q and no %q: %s", text, want, word, err)
		}
		if strings.Contains(want, "cannot be") && !strings.Contains(err.Error(), path) {
			t.Errorf("%q: the file's name is missing: %s", text, err)
		}
	}
}
