package prove

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"pgregory.net/rapid"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
	"plimsoll/internal/testkit"
)

// classesOfTwo are bounds a factor of two apart, like etcd's.
var classesOfTwo = []float64{0.001, 0.002, 0.004, 0.008, math.Inf(1)}

// counted returns a histogram of durations, with some in each unit.
func counted(q float64, edges []float64, units ...[]float64) *histogram {
	h := &histogram{q: q, edges: edges}
	for _, u := range units {
		upTo := make([]float64, len(edges))
		for e, edge := range edges {
			for _, x := range u {
				if x <= edge {
					upTo[e]++
				}
			}
		}
		h.upTo = append(h.upTo, upTo)
	}
	return h
}

// The stated interval contains the quantile of the durations themselves, wherever they were within
// their classes. That holds even if all units are the same: then chance plays no part, and the
// whole class remains.
func TestStatedIntervalHoldsTheClass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.SliceOfN(rapid.Float64Range(1e-5, 0.008), 1, 40).Draw(t, "durations")
		units := [][]float64{one, one, one, one, one, one}
		q := rapid.SampledFrom([]float64{0.5, 0.99}).Draw(t, "q")
		all := slices.Sorted(slices.Values(slices.Concat(units...)))
		exact := all[int(math.Ceil(q*float64(len(all))-1e-9))-1]
		h := counted(q, classesOfTwo, units...)
		at := h.estimate(once(len(units)))
		s, _ := h.spread(at, 0.05, 2, func(*quotient) float64 { return 0 })
		stated := s.stated()

		const rounding = 1e-12
		if s.low != at || s.high != at || exact < stated.low-rounding || exact > stated.high+rounding {
			t.Fatalf("%g of %v is %g; stated %+v of %+v", q, one, exact, stated, s)
		}

		if width := resolution(h, at) * at; math.Abs(stated.high-stated.low-width) > rounding {
			t.Fatalf("the class is %g wide, the interval %g", width, stated.high-stated.low)
		}
	})
}

// The class widths extend a change to the worst case of both sides, and nothing else does.
func TestChangeOfClasses(t *testing.T) {
	a := span{value: 3, low: 3, high: 3, below: 1, above: 1} // in the class from 2 to 4
	b := span{value: 6, low: 6, high: 6, below: 2, above: 2}
	if d := difference(a, b).stated(); d.low != 0 || d.high != 6 {
		t.Errorf("from 2..4 to 4..8 is a difference of %g to %g, want 0 to 6", d.low, d.high)
	}
	if r := ratio(a, b).stated(); math.Abs(r.low-1) > 1e-12 || math.Abs(r.high-4) > 1e-12 {
		t.Errorf("from 2..4 to 4..8 is a factor of %g to %g, want 1 to 4", r.low, r.high)
	}
	a.high, a.above = math.Inf(1), 0
	if r := ratio(a, b).stated(); r.low != 0 || math.Abs(r.high-4) > 1e-12 {
		t.Errorf("from 2.. to 4..8 is a factor of %g to %g, want 0 to 4", r.low, r.high)
	}
}

// withClasses gives a synthetic recording a histogram of its writes: each second's take its latency
// times a factor, and a hundredth of them ten times that.
func (m made) withClasses(word string, edges []string, factor float64) *side {
	s := m.side(word)
	all := s.c.Tracks
	mean := s.c.One(testkit.Pack().Signal(rules.SignalPrefix + "mongodb_write_latency:seconds"))
	rate := s.c.One(testkit.Pack().Signal(rules.SignalPrefix + "mongodb_writes:rate"))

	tracks := make([]timeline.Track, len(edges))
	for i, le := range edges {
		upTo := make([]float64, len(mean))
		edge, _ := strconv.ParseFloat(le, 64)
		for k := range mean {
			switch {
			case 10*factor*mean[k] <= edge:
				upTo[k] = rate[k]
			case factor*mean[k] <= edge:
				upTo[k] = 0.99 * rate[k]
			}
		}
		tracks[i] = timeline.Track{Labels: labels.FromStrings("le", le), Values: upTo}
	}

	s.c.Tracks = func(of *rules.Signal) []timeline.Track {
		if of == rules.ClientWriteClasses {
			return tracks
		}
		return all(of)
	}

	return s
}

// If there is a histogram, percentiles come from it. A change smaller than its classes is not
// reported as one, nor is a longer recording advised; "no change" comes with the width of the
// classes.
func TestFiguresOfClasses(t *testing.T) {
	edges := []string{"0.001", "0.01", "0.1", "1", "10", "+Inf"}
	compareTwo := func(slower float64) *Report {
		m := made{seed: 1, cells: 620, every: 60}
		a, b := m.withClasses("before", edges, 1), m
		b.seed = 2
		r, err := compare(t.Context(), a, b.withClasses("after", edges, slower), few)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	same := compareTwo(1)
	p50 := figure(same, "write_p50")
	if p50.Verdict != NoChange || p50.Resolution < 1 || !strings.HasPrefix(p50.Basis, summed) || figure(same, "write_p999").Before.Value == nil {
		t.Errorf("of the same: %+v", p50)
	}

	if *p50.Before.Low > 0.001 || *p50.Before.High < 0.01 {
		t.Errorf("the median is between %g and %g, of the class from 1 to 10 ms", *p50.Before.Low, *p50.Before.High)
	}

	// About a fifth of the seconds move to the next class: that is not chance, but the median stays
	// in its class.
	r := compareTwo(4)
	if p50 := figure(r, "write_p50"); p50.Verdict != CantTell || p50.Record != nil || *p50.PAdjusted > 0.05 {
		t.Errorf("within a class: %+v", p50)
	}

	if p50 := figure(compareTwo(100), "write_p50"); p50.Verdict != Worse {
		t.Errorf("two classes on: %+v", p50)
	}
}
