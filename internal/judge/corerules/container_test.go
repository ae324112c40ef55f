package corerules

import (
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Nested groups wait together, and only the one with the lowest limit is reported. Sibling groups
// are each reported.
func TestLimitedMost(t *testing.T) {
	track := func(id string, value float64) timeline.Track {
		return timeline.Track{Labels: labels.FromStrings("id", id), Values: []float64{value}}
	}
	for _, test := range []struct {
		name   string
		limits map[string]float64
		want   []string
	}{
		{"the pod has a limit", map[string]float64{"/k/pod1": 2}, []string{"/k/pod1", "/k/pod10"}},
		{"the container has a lower one", map[string]float64{"/k/pod1": 2, "/k/pod1/c1": 1}, []string{"/k/pod1/c1", "/k/pod10"}},
		{"both have the same", map[string]float64{"/k/pod1": 2, "/k/pod1/c1": 2}, []string{"/k/pod1/c1", "/k/pod10"}},
		{"no limit is known", nil, []string{"/k/pod1/c1", "/k/pod10"}},
		{"the lowest limit is at the top", map[string]float64{"/k": 1, "/k/pod1": 2, "/k/pod10": 2}, []string{"/k"}},
	} {
		c := rules.NewCase(nil, timeline.Grid{N: 1, StepMs: 1000}, func(s *rules.Signal) (out []timeline.Track) {
			if s == rules.ContainerMemoryLimit {
				for id, v := range test.limits {
					out = append(out, track(id, v))
				}
			}
			return out
		})

		held := []timeline.Track{track("/k", 1), track("/k/pod1", 1), track("/k/pod1/c1", 1), track("/k/pod10", 1)}
		if test.limits["/k"] == 0 {
			held = held[1:]
		}

		var got []string
		for _, at := range limitedMost(&c.Signals, held) {
			got = append(got, at.Labels.Get("id"))
		}

		if !slices.Equal(got, test.want) {
			t.Errorf("%s: reported %v, want %v", test.name, got, test.want)
		}
	}
}
