package act_test

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/check/kubeschema"
	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/testkit"
)

// Kubernetes' own schemas accept the result of every printed patch, forward and back.
func TestPatchesFitTheSchemas(t *testing.T) {
	var patches []kubeschema.Patch
	seen := map[string]bool{}
	for _, e := range testkit.Pack().Engines() {
		for _, m := range remediesOf(e.Database) {
			values := rules.Values{"pod": "db-0", "container": "mongod"}
			for _, w := range act.Describe(testkit.Pack(), e.Database, m, values).Ways {
				text := strings.Join(slices.Concat(w.Look, w.Do, w.Keep, w.Check, w.Undo), "\n")
				if !strings.Contains(text, "kubectl patch ") || seen[m.Name] {
					continue
				}
				seen[m.Name] = true
				patches = append(patches, kubeschema.Patches(t, t.TempDir(), "", []string{text}, nil)...)
			}
		}
	}
	if !seen["cpu-limit"] || !seen["memory-limit"] || len(patches) != 2*len(seen) {
		t.Fatalf("%d patches of %v", len(patches), seen)
	}
	kubeschema.Check(t, "mongod", patches)
}
