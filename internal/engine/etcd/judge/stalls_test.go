package judge

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// proposals returns a recording of pending and applied proposals, one sample every ten seconds. If fine
// is true, the grid's cells are a tenth of that, because another source was sampled every second.
func proposals(pending, applied []float64, fine bool) *rules.Signals {
	values := map[*rules.Signal][]float64{ProposalsPending: pending, ProposalsApplied: applied}
	grid := timeline.Grid{StepMs: 10_000, N: len(pending)}
	if fine {
		grid = timeline.Grid{StepMs: 1000, N: 10 * len(pending)}
		for s, v := range values {
			values[s] = finer(v)
		}
	}

	c := rules.NewCase(nil, grid, func(s *rules.Signal) []timeline.Track {
		if v, ok := values[s]; ok {
			return []timeline.Track{{Values: v}}
		}
		return nil
	})
	c.Sampled(map[string]float64{ProposalsPending.Name: 10, ProposalsApplied.Name: 10})
	return &c.Signals
}

// finer returns ten equal values for each.
func finer[E any](values []E) (out []E) {
	for _, x := range values {
		out = append(out, slices.Repeat([]E{x}, 10)...)
	}
	return out
}

func drawn(m timeline.Mask) string {
	var b strings.Builder
	for _, held := range m {
		b.WriteByte(".#"[map[bool]int{true: 1}[held]])
	}
	return b.String()
}

// Proposals that pile up while few are applied are a stall, including the sample in between in which
// the backlog drains. A few that are pending while the load pauses are not.
func TestProposalsWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		pending, applied []float64
		want             string
	}{
		"backlog drains between two stalls": {
			[]float64{2, 2, 400, 20, 400, 2, 2, 2}, []float64{100, 100, 1, 900, 1, 100, 100, 100}, "..###..."},
		"backlog drains after a stall": {
			[]float64{2, 2, 400, 20, 2, 2, 2, 2}, []float64{100, 100, 1, 900, 100, 100, 100, 100}, "..#....."},
		"two samples between two stalls": {
			[]float64{2, 400, 2, 2, 400, 2, 2, 2}, []float64{100, 1, 100, 100, 1, 100, 100, 100}, ".#..#..."},
		"load pauses twice": {
			[]float64{2, 8, 2, 8, 2, 2, 2, 2}, []float64{500, 140, 500, 140, 500, 500, 500, 500}, "........"},
		"most of the time, in which a few are applied": {
			[]float64{2, 400, 400, 400, 2, 400, 400, 400, 2, 400}, []float64{100, 6, 5, 6, 100, 7, 6, 5, 100, 6},
			".#########"},
		"nearly all of the time": {
			[]float64{2, 400, 400, 400, 400, 400, 2, 400, 400, 400, 400, 400, 2, 2},
			[]float64{100, 6, 5, 6, 6, 6, 100, 7, 6, 5, 6, 6, 100, 100}, ".###########.."},
		"large proposals most of the time, which do not wait": {
			[]float64{2, 6, 6, 6, 2, 6, 6, 6, 2, 6}, []float64{500, 70, 80, 75, 500, 70, 70, 75, 500, 70}, ".........."},
		"many pending, all applied": {
			[]float64{400, 400, 400, 400, 400, 400, 400, 400}, []float64{500, 500, 500, 500, 500, 500, 500, 500}, "........"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, fine := range []bool{false, true} {
				s, ok := waiting(proposals(c.pending, c.applied, fine), "")
				want := c.want
				if fine {
					want = string(finer([]byte(want)))
				}
				if got := drawn(s.Cells); !ok || got != want {
					t.Errorf("finer grid %v: stalled %s, want %s", fine, got, want)
				}
			}
		})
	}
}

// Twice the load with twice the queue stalls at the same times: proposals wait equally long.
func TestProposalsWaitingScales(t *testing.T) {
	pending, applied := []float64{8, 8, 400, 20, 400, 8, 8, 30}, []float64{100, 100, 1, 900, 1, 100, 100, 20}
	one, _ := waiting(proposals(pending, applied, false), "")
	for i := range pending {
		pending[i], applied[i] = 2*pending[i], 2*applied[i]
	}

	two, _ := waiting(proposals(pending, applied, false), "")
	if got, want := drawn(two.Cells), drawn(one.Cells); got != want || one.Cells.Count() == 0 {
		t.Errorf("at twice the load stalled %s, at the load itself %s", got, want)
	}
}
