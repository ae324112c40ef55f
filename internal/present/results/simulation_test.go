package results

import (
	"strings"
	"testing"

	"plimsoll/internal/model/simulate"
)

// An overloaded run completes only operations that began before the measured time. That is not "no
// operation".
func TestVerdictOfRunThatLags(t *testing.T) {
	r := &simulate.Result{Seconds: 60}
	if got := verdictOf(r); got != "No operation completed." {
		t.Errorf("nothing completed: %q", got)
	}
	r.DonePerSec = 8.33
	if got := verdictOf(r); !strings.HasPrefix(got, "It does not keep up: 8.33 operations a second completed, and all of them began during warm-up") {
		t.Errorf("8.33/s completed: %q", got)
	}
}
