package timeline_test

import (
	"math"
	"testing"
	"time"

	"plimsoll/internal/record/timeline"
)

// Two runs of a server are a month apart: the month takes 600 cells, every cell has its true time, and
// no count is lost or moved.
func TestFold(t *testing.T) {
	const month = 30 * 86400
	start := time.UnixMilli(0).UTC()
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	holes := []timeline.Hole{{From: at(100), To: at(month)}, {From: at(month + 50), To: at(month + 70)}}

	g := timeline.NewGrid(start, at(month+100), time.Second, holes...)
	if g.N != 100+600+100+1 {
		t.Fatalf("%d cells, want 801: 200 s, 600 cells of the hole and the first one", g.N)
	}

	for k := 1; k < g.N; k++ {
		if g.Time(k).Sub(g.Start(k)) != time.Second || g.Start(k).Before(g.Time(k-1)) {
			t.Fatalf("cell %d is from %v to %v after %v", k, g.Start(k), g.Time(k), g.Time(k-1))
		}
		if back, ok := g.CellAt(g.Time(k)); !ok || back != k {
			t.Fatalf("the time of cell %d lies in cell %d (%v)", k, back, ok)
		}
	}

	if got := g.Time(g.N - 1); !got.Equal(at(month + 100)) {
		t.Errorf("the grid ends at %v", got)
	}

	if _, ok := g.CellAt(at(month / 2)); ok {
		t.Error("a time that is folded has a cell")
	}

	if runs := g.Runs(); len(runs) != 2 || runs[0].Last+1 != runs[1].First || runs[1].Last != g.N-1 {
		t.Errorf("runs %v", runs)
	}

	pts := append(every(0, 1000, 100, 0, 5), every(month*1000, 1000, 100, 7000, 9)...)
	rate, gauge := g.Rate(pts), g.Gauge(pts)
	if got := timeline.Sum(rate); math.Abs(got-(100*5+100*9)) > 1e-3 {
		t.Errorf("%v counted in all, want 1400", got)
	}

	for k := range g.N {
		in := !g.Time(k).After(at(100)) || g.Start(k).After(at(month-2))
		if known := !math.IsNaN(gauge[k]); known && !in && g.Time(k).After(at(103)) {
			t.Fatalf("cell %d (%v) in the hole has the value %v", k, g.Time(k), gauge[k])
		}
	}

	if k, _ := g.CellAt(at(month + 10)); rate[k] != 9 || gauge[k] != 7090 {
		t.Errorf("10 s into the second run the rate is %v and the value %v, want 9 and 7090", rate[k], gauge[k])
	}
}

// A short hole, one that begins before the grid and one that ends after it.
func TestFoldEdges(t *testing.T) {
	start := time.UnixMilli(0).UTC()
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for _, c := range []struct {
		name string
		hole timeline.Hole
		want int
	}{
		{"short", timeline.Hole{From: at(100), To: at(700)}, 10001},
		{"one cell too long", timeline.Hole{From: at(100), To: at(701)}, 10000},
		{"begins before", timeline.Hole{From: at(-5000), To: at(5000)}, 5601},
		{"ends behind", timeline.Hole{From: at(5000), To: at(50000)}, 5301},
		{"reversed", timeline.Hole{From: at(5000), To: at(1000)}, 10001},
	} {
		if g := timeline.NewGrid(start, at(10000), time.Second, c.hole); g.N != c.want {
			t.Errorf("%s: %d cells, want %d", c.name, g.N, c.want)
		}
	}
}
