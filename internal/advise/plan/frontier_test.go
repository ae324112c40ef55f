package plan

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// ran is an outcome with a price in dollars, a write p99 and a read p99; 0 is not known.
func ran(usd, write, read float64) *outcome {
	o := &outcome{candidate: &candidate{price: dollars(usd * 1e6)}, result: &simulate.Result{}}
	if write > 0 {
		o.result.Writes.All.P99Seconds = &write
	}
	if read > 0 {
		o.result.Reads.All.P99Seconds = &read
	}
	return o
}

// searched is a planner whose search chose the first outcome and rejected the others.
func searched(want []scenario.Bound, chosen *outcome, rejected ...*outcome) *planner {
	return &planner{
		opt:     &Options{},
		want:    want,
		found:   &searchResult{chosen: chosen, rejected: rejected},
		current: &outcome{candidate: &candidate{}},
		sim:     &simulator{opt: &Options{}},
	}
}

var writeP99 = []scenario.Bound{{Name: "write_p99", Most: units.Duration(100e6)}}

func listed(all []*outcome) string {
	out := ""
	for _, o := range all {
		out += fmt.Sprintf("%v USD %v s, ", o.price.usd(), *o.result.Writes.All.P99Seconds)
	}
	return out
}

// The frontier has the layouts for which no other is both as cheap and better, by price. Beyond the chosen
// layout, each has to be noticeably better than the one before.
func TestFrontier(t *testing.T) {
	chosen := ran(50, 0.09, 0)
	p := searched(
		writeP99,
		chosen,
		ran(30, 2, 0),
		ran(20, 5, 0),
		ran(40, 2, 0),
		ran(40, 1, 0),
		ran(45, 1.5, 0),
		ran(10, 0, 0),
	)
	p.extra = []*outcome{ran(90, 0.0811, 0), ran(100, 0.0809, 0), ran(110, 0.04, 0), ran(120, 0.05, 0)}
	if got, want := listed(p.frontier()), "20 USD 5 s, 30 USD 2 s, 40 USD 1 s, 50 USD 0.09 s, 100 USD 0.0809 s, 110 USD 0.04 s, "; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A layout whose figures do not hold is not on the frontier, however good they are.
func TestFrontierWithoutDoubt(t *testing.T) {
	saturated := ran(10, 0.001, 0)
	saturated.result.Caveats = []simulate.Caveat{{Kind: simulate.Processor, Text: "its cores are saturated"}}
	if got := listed(searched(writeP99, ran(20, 0.01, 0), saturated).frontier()); got != "20 USD 0.01 s, " {
		t.Error(got)
	}
}

// Whatever the runs are: prices rise and latencies fall along the frontier, no run is both cheaper and better
// than a point of it, and the cheapest and the best of all are on it.
func TestFrontierIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []*outcome
		for range rapid.IntRange(1, 12).Draw(t, "runs") {
			all = append(
				all,
				ran(
					float64(rapid.IntRange(1, 6).Draw(t, "usd")),
					float64(rapid.IntRange(1, 6).Draw(t, "seconds")),
					0,
				),
			)
		}
		front := searched(writeP99, nil, all...).frontier()
		for i, o := range front {
			x := *o.result.Writes.All.P99Seconds
			if i > 0 && (o.price <= front[i-1].price || x >= *front[i-1].result.Writes.All.P99Seconds) {
				t.Fatalf("%s", listed(front))
			}
			for _, other := range all {
				if y := *other.result.Writes.All.P99Seconds; other.price <= o.price && y <= x &&
					(other.price < o.price || y < x) {
					t.Fatalf("%s dominates a point of %s", listed([]*outcome{other}), listed(front))
				}
			}
		}
		for _, o := range all {
			if o.price < front[0].price ||
				*o.result.Writes.All.P99Seconds < *front[len(front)-1].result.Writes.All.P99Seconds {
				t.Fatalf("%s is beyond the ends of %s", listed([]*outcome{o}), listed(front))
			}
		}
	})
}

// The nearest layout misses its worst objective by the smallest factor. A layout in which no operation
// of a kind completed is never the nearest, however fast the others were.
func TestNearest(t *testing.T) {
	both := append(slices.Clone(writeP99), scenario.Bound{Name: "read_p99", Most: units.Duration(10e6)})
	for _, c := range []struct {
		name string
		want []scenario.Bound
		all  []*outcome
		usd  float64
	}{
		{"one objective", writeP99, []*outcome{ran(1, 0.3, 0), ran(2, 0.2, 0), ran(3, 0.25, 0)}, 2},
		{"the first of equals", writeP99, []*outcome{ran(1, 0.2, 0), ran(2, 0.2, 0)}, 1},
		{"the worst of two counts", both, []*outcome{ran(1, 0.3, 0.2), ran(2, 0.5, 0.05), ran(3, 0.11, 0.06)}, 2},
		{"no read completed", both, []*outcome{ran(1, 0.11, 0), ran(2, 0.5, 0.05)}, 2},
		{"no read ever completed", both, []*outcome{ran(1, 0.11, 0), ran(2, 0.5, 0)}, 1},
	} {
		if got := searched(c.want, nil, c.all...).nearest(); got.price.usd() != c.usd {
			t.Errorf("%s: the layout for %v USD, want the one for %v", c.name, got.price.usd(), c.usd)
		}
	}
	if got := searched(writeP99, nil).nearest(); got != nil {
		t.Errorf("without runs: %+v", got)
	}
}

// A layout of several platforms is on the joint frontier if no cheaper one is as good.
func TestJointFrontier(t *testing.T) {
	of := func(usd, p99 float64) *Layout {
		return &Layout{MonthlyUSD: usd, Predicted: map[string]Prediction{"write_p99_seconds": {Value: p99}}}
	}
	all := []*Layout{of(30, 1), of(10, 3), of(20, 3), of(20, 2), of(40, 1), of(50, 0.5)}
	got := ""
	for _, l := range joint(all, &Plan{Objectives: []Objective{{Name: "write_p99"}}}) {
		got += fmt.Sprint(l.MonthlyUSD, " ")
	}
	if got != "10 20 30 50 " || all[0].MonthlyUSD != 30 {
		t.Errorf("%s; the first is now for %v", got, all[0].MonthlyUSD)
	}
}

// A plan that meets the objectives is preferable to one that does not, and then the cheaper one is.
func TestCheaperPlan(t *testing.T) {
	of := func(usd float64) *Plan { return &Plan{Chosen: &Layout{MonthlyUSD: usd}} }
	for _, c := range []struct {
		p, than *Plan
		want    bool
	}{{of(1), of(2), true}, {of(2), of(1), false}, {of(1), of(1), false}, {&Plan{}, of(1), false}, {of(9), &Plan{}, true}, {&Plan{}, &Plan{}, false}} {
		if got := cheaper(c.p, c.than); got != c.want {
			t.Errorf("%+v than %+v: %v", c.p.Chosen, c.than.Chosen, got)
		}
	}
}

// A quicker volume has the lower median, a stronger one more IOPS, then more throughput.
func TestBetterVolumes(t *testing.T) {
	slow, fast := given{
		known:      true,
		median:     1000,
		iops:       3000,
		throughput: 125,
	}, given{
		known:      true,
		median:     500,
		iops:       3000,
		throughput: 125,
	}
	few, more, wide := fast, slow, slow
	few.iops, more.iops, wide.throughput = 100, 6000, 250
	for _, c := range []struct {
		name   string
		better func(x, y *given) int
		x, y   given
		want   int
	}{
		{"lower median", quicker, fast, slow, 1}, {"equal", quicker, slow, slow, 0}, {"lower median with fewer IOPS", quicker, few, slow, -1}, {"more IOPS only", quicker, more, slow, 0},
		{"more IOPS", stronger, more, fast, 1}, {"more throughput", stronger, wide, fast, 1}, {"lower median of equals", stronger, fast, slow, 1}, {"itself", stronger, wide, wide, 0}, {"fewer IOPS", stronger, few, wide, -1},
	} {
		if got := c.better(&c.x, &c.y); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
