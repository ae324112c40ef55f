package inputerror

import (
	"slices"
	"strings"
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

// A distance is a metric: it is symmetric and satisfies the triangle inequality.
func TestDistanceIsMetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-d]{0,6}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		if Distance(a, b) != Distance(b, a) || Distance(a, c) > Distance(a, b)+Distance(b, c) || (Distance(a, b) == 0) != (a == b) {
			t.Fatal("no metric")
		}
	})
}

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		word, want string
		among      []string
	}{
		{"telemetri", "telemetry", []string{"ranread", "telemetry"}},
		{"randread", "ranread", []string{"telemetry", "ranread", "ranwrite"}},
		{"k8s", "kubernetes", []string{"aws", "kubernetes"}},
		{"k9s", "aws", []string{"aws", "kubernetes"}},
		{"x", "", []string{"telemetry", "ranread"}},
		{"GP-3", "gp3", []string{"gp2", "gp3"}},
		{"write_p9", "write_p95", []string{"write_p50", "write_p95", "write_p99", "write_p999"}},
		{"iops", "volumes.data.iops", []string{"volumes.data.type", "volumes.data.iops"}},
		{"zzz.q", "", []string{"m6i.xlarge"}},
		{strings.Repeat("y", 1000), "", []string{"y"}},
	} {
		if got := Nearest(c.word, c.among); got != c.want {
			t.Errorf("%s: %q, want %q", c.word, got, c.want)
		}
	}
	if got := Near("m6i.xlarg", []string{"m5.large", "m6i.2xlarge", "m6i.xlarge"}, 2); !slices.Equal(got, []string{"m6i.xlarge", "m6i.2xlarge"}) {
		t.Errorf("%v", got)
	}
}
