package results

import (
	"strings"
	"testing"

	"plimsoll/internal/model/simulate"
)

// An overloaded run completes only operations that began before the measured time. That is not reported
// as "no operation".
func TestVerdictOfRunThatLags(t *testing.T) {
	r := &simulate.Result{Seconds: 60}
	if got := verdictOf(r); got != "No operation completed." {
		t.Errorf("nothing completed: %q", got)
	}
	r.DonePerSec = 8.33
	if got := verdictOf(r); !strings.HasPrefix(got, "The engine does not keep up: 8.33 operations per second completed, all of them started during warm-up") {
		t.Errorf("8.33/s completed: %q", got)
	}
}
