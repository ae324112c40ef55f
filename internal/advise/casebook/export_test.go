package casebook

import "testing"

// WalkOf is the walk through a case, run once for all tests; nil under the race detector, where it
// takes too long.
func WalkOf(t *testing.T, name string) *Walk {
	t.Helper()
	if underRace {
		return nil
	}
	return walk(t, name)
}
