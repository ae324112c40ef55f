package diagnostics

import (
	"testing"

	"pgregory.net/rapid"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"gp3", "gp3", 0}, {"gp", "gp3", 1}, {"volums", "volumes", 1}, {"wal", "", 3}, {"kitten", "sitting", 3},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// A distance is a metric: the same both ways, and no detour is shorter.
func TestDistanceIsMetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-d]{0,6}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		if Distance(a, b) != Distance(b, a) || Distance(a, c) > Distance(a, b)+Distance(b, c) || (Distance(a, b) == 0) != (a == b) {
			t.Fatal("no metric")
		}
	})
}
