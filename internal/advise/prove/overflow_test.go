package prove

import (
	"strings"
	"testing"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Beyond the last bucket on both sides, a histogram cannot compare: 9 s and 90 s look the same
// there. The mean latency can, if it was recorded.
func TestBeyondTheLastBucket(t *testing.T) {
	edges := []string{"0.0001", "0.0005", "+Inf"}
	two := func(slower float64, means bool) *Report {
		a, b := made{seed: 1, cells: 620}, made{seed: 2, cells: 620, slower: slower}
		x, y := a.withClasses("before", edges, 1), b.withClasses("after", edges, 1)
		for _, s := range []*side{x, y} {
			all := s.c.Tracks
			s.c.Tracks = func(of *rules.Signal) []timeline.Track {
				if !means && of.Name == rules.SignalPrefix+"mongodb_write_latency:seconds" {
					return nil
				}
				return all(of)
			}
		}

		r, err := compare(t.Context(), x, y, few)
		if err != nil {
			t.Fatal(err)
		}

		return r
	}

	f := figure(two(10, false), "write_p99")
	if f.Verdict != CantTell || f.Record != nil || !f.Before.AtLeast || !f.After.AtLeast || f.After.Text(f.Unit) != "at least 500 us" {
		t.Errorf("without means: %+v", f)
	}

	if f := figure(two(10, true), "write_p99"); f.Verdict != Worse || f.After.AtLeast || !strings.Contains(f.Basis, "means") {
		t.Errorf("with means: %+v", f)
	}

	// The sentence names the limit of the data, and does not ask for a longer recording.
	pairs := []pair{{figure: *f, kind: kind{felt: true}}}
	r := &Report{Confidence: 0.95, Workload: Workload{Comparable: true}}
	r.conclude(pairs)

	if !strings.Contains(r.Sentence, "was at least 500 us before and at least 500 us after, beyond the histogram's last bucket") || strings.Contains(r.Sentence, "recordings of") {
		t.Errorf("%s", r.Sentence)
	}
}

// A change from beyond the last bucket to within it still counts as an improvement.
func TestBackFromTheLastBucket(t *testing.T) {
	edges := []string{"0.0001", "0.0005", "0.05", "0.5", "1", "+Inf"}
	a := made{seed: 1, cells: 620, every: 60, slower: 100}
	b := made{seed: 2, cells: 620, every: 60}
	r, err := compare(t.Context(), a.withClasses("before", edges, 1), b.withClasses("after", edges, 0.1), few)
	if err != nil {
		t.Fatal(err)
	}
	if f := figure(r, "write_p50"); f.Verdict != Better {
		t.Errorf("%+v", f)
	}
}
