package watch

import (
	"os/exec"
	"strings"
	"testing"
)

// A watch runs next to a database for months, so it does not link the models, the lab, the planner or
// the emitter.
func TestLinksLittle(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(out)) {
		own, ok := strings.CutPrefix(name, "plimsoll/internal/")
		for _, part := range []string{"advise", "lab", "model"} {
			if ok && strings.HasPrefix(own+"/", part+"/") {
				t.Errorf("watch links %s", name)
			}
		}
	}
}
