package latency

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/base/vtime"
)

// Classes and parts of a cycle have consistent bounds.
func TestClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, 1<<42).Draw(t, "ns")
		c := ClassOf(ns)
		if ns > ClassTop(c) || c > 0 && ns <= ClassTop(c-1) {
			t.Fatalf("%d is in class %d, which ends at %d", ns, c, ClassTop(c))
		}
		if top, width := ClassTop(c), ClassTop(c)-ClassTop(max(c-1, 0)); ns > 1<<20 && float64(width) > 0.04*float64(top) {
			t.Fatalf("class %d is %d wide of %d", c, width, top)
		}
		at := rapid.Int64Range(0, 9_000_000_000_000).Draw(t, "at")
		if p := partOf(at); math.Abs(float64(partMiddle(p)-at)) > 0.06*float64(at)+5e6 {
			t.Fatalf("%d is in part %d, around %d", at, p, partMiddle(p))
		}
	})
}

// A percentile is within 1 % (or half a microsecond) of the one computed by sorting, and two merged
// distributions equal one of all operations.
func TestPercentiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, 1e11), 1, 200).Draw(t, "times")
		var a, b Distribution

		cell := NewSeries(0, 1e9)
		for i, ns := range times {
			if i%2 == 0 {
				a.Add(ns)
			} else {
				b.Add(ns)
			}
			cell.Add(0, ns)
		}

		a.Merge(&b)
		slices.Sort(times)

		for _, p := range []int64{1, 50, 95, 99, 100} {
			want := times[(int64(len(times))*p+99)/100-1]
			// The histogram rounds the rank to this one or the one before.
			before := times[max((int64(len(times))*p)/100-1, 0)]
			if got := float64(a.Percentile(float64(p))); got > 1.01*float64(want)+500 || got < 0.99*float64(before)-500 {
				t.Fatalf("p%d of %v is %g, want %d", p, times, got, want)
			}
			if got := cell.Cells[0].Quantile(10 * p); got < want || float64(got-want) > 0.04*float64(want)+2048 {
				t.Fatalf("cell's p%d of %v is %d, want %d", p, times, got, want)
			}
		}

		l := a.Latency()
		if l.Operations != int64(len(times)) || *l.MaxSeconds != float64(times[len(times)-1])/1e9 {
			t.Fatalf("%+v of %v", l, times)
		}
	})
}

func TestNothingCounted(t *testing.T) {
	var d Distribution
	if l := d.Latency(); l.Operations != 0 || l.P99Seconds != nil || l.MeanSeconds != nil || d.Percentile(99) != 0 {
		t.Errorf("%+v", l)
	}
	var b ByCycle
	period := 60.0
	if c := b.Class(&period); c.SinceCheckpoint == nil || len(c.SinceCheckpoint) != 0 {
		t.Errorf("%+v", c)
	}
}

// TestSort assigns operations to two cycles in any order, the second of which is still running.
func TestSort(t *testing.T) {
	cycles := [][2]vtime.Instant{{10e9, 14e9}, {20e9, vtime.Never}}
	cycle := func(i int) (start, end vtime.Instant) { return cycles[i][0], cycles[i][1] }
	ops := []Operation{
		{At: 21e9, Took: 7e6, Write: true},      // in the second, 1 s after its start
		{At: 9e9, Took: 1e6, Write: true},       // before any cycle
		{At: 10e9, Took: 5e6, Write: true},      // at the start of the first
		{At: 14e9, Took: 2e6, Write: true},      // at its end: outside
		{At: 20e9 - 1, Took: 3e6, Write: false}, // just before the second
		{At: 13e9, Took: 6e6, Write: true},
	}

	var s Sorter
	s.Sort(ops[:4], len(cycles), cycle)
	s.Sort(ops[4:], len(cycles), cycle)
	period := 10.0

	w, r := s.Writes.Class(&period), s.Reads.Class(&period)
	if w.DuringCheckpoint.Operations != 3 || w.OutsideCheckpoint.Operations != 2 || *w.DuringCheckpoint.MaxSeconds != 7e-3 || *w.OutsideCheckpoint.MaxSeconds != 2e-3 {
		t.Errorf("during %+v, outside %+v", w.DuringCheckpoint, w.OutsideCheckpoint)
	}

	if r.All.Operations != 1 || r.OutsideCheckpoint.Operations != 1 || r.SinceCheckpoint[9].Operations != 1 {
		t.Errorf("reads %+v", r)
	}

	got := ""
	for _, p := range w.SinceCheckpoint {
		got += fmt.Sprintf(" %s:%d", p.Name, p.Operations)
	}

	// Operations before any cycle are in no tenth.
	if want := " 0-1s:1 1-2s:1 2-3s:0 3-4s:1 4-5s:1 5-6s:0 6-7s:0 7-8s:0 8-9s:0 9-10s:0"; got != want {
		t.Errorf("tenths%s, want%s", got, want)
	}

	s.Sort(ops[:1], 0, nil)
	if n := s.Writes.outside.Count(); n != 3 {
		t.Errorf("without cycles %d are outside", n)
	}
}

// In any order of input, each operation belongs to the last cycle that had begun by then.
func TestSortsLikeASearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		starts := rapid.SliceOfNDistinct(rapid.Int64Range(0, 100), 0, 8, rapid.ID).Draw(t, "starts")
		slices.Sort(starts)

		ends := make([]int64, len(starts))
		for i := range ends {
			next := int64(120)
			if i+1 < len(starts) {
				next = starts[i+1]
			}
			ends[i] = rapid.Int64Range(starts[i], next).Draw(t, "end")
		}

		var ops []Operation
		during, outside := int64(0), int64(0)
		for _, at := range rapid.SliceOf(rapid.Int64Range(0, 130)).Draw(t, "at") {
			ops = append(ops, Operation{At: vtime.Instant(at), Took: 1, Write: true})
			in := false
			for i := range starts {
				in = in || at >= starts[i] && at < ends[i]
			}
			if in {
				during++
			} else {
				outside++
			}
		}

		var s Sorter
		s.Sort(ops, len(starts), func(i int) (start, end vtime.Instant) { return vtime.Instant(starts[i]), vtime.Instant(ends[i]) })
		if s.Writes.during.n != during || s.Writes.outside.n != outside {
			t.Fatalf("%d during and %d outside, want %d and %d", s.Writes.during.n, s.Writes.outside.n, during, outside)
		}
	})
}

func TestLongSeriesHaveLongCells(t *testing.T) {
	s := NewSeries(0, vtime.Instant(2*SeriesMax*1e9))
	if len(s.Cells) != SeriesMax || s.Step != 2e9 {
		t.Errorf("%d cells of %v", len(s.Cells), s.Step)
	}
	s.Add(3e9, 5)
	s.Add(vtime.Instant(2*SeriesMax*1e9), 7) // at the end: the last cell
	if s.Cells[1].Count != 1 || s.Cells[SeriesMax-1].Max != 7 {
		t.Error("operations are in the wrong cells")
	}
}
