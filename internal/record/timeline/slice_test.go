package timeline_test

import (
	"testing"
	"time"

	"plimsoll/internal/record/timeline"
)

// The cells of a slice are those of the grid, on both sides of a fold.
func TestGridSlice(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hole := timeline.Hole{From: from.Add(20 * time.Minute), To: from.Add(90 * 24 * time.Hour)}
	g := timeline.NewGrid(from, hole.To.Add(20*time.Minute), time.Second, hole)
	for _, r := range [][2]int{{0, g.N - 1}, {100, 200}, {1000, g.N - 100}, {g.N - 500, g.N - 1}} {
		s := g.Slice(r[0], r[1])
		for k := range s.N {
			if got, want := s.Time(k), g.Time(r[0]+k); !got.Equal(want) {
				t.Fatalf("cell %d of %v ends at %v, want %v", k, r, got, want)
			}
			if at, ok := s.CellAt(s.Time(k)); !ok || at != k {
				t.Fatalf("cell at the end of cell %d of %v is %d, %v", k, r, at, ok)
			}
		}
	}
}
