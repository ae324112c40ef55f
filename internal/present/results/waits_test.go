package results_test

import (
	"testing"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/trace/chain"
)

// What a trace records is what a diagnosis reads: the classes of waits are the same.
func TestWaitsOfTraces(t *testing.T) {
	recorded := map[rules.Wait]bool{}
	for _, w := range chain.Waits() {
		recorded[rules.Wait(w)] = true
	}
	for _, w := range rules.Waits {
		if !recorded[w] {
			t.Errorf("no trace records %s", w)
		}
		delete(recorded, w)
	}
	for w := range recorded {
		t.Errorf("no diagnosis knows %s", w)
	}
}
