package timeline_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"pgregory.net/rapid"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

const (
	seconds = 40
	startMs = 1_700_000_000_000
)

// A world is random regular data: samples exactly one second apart on the grid, counters that never go
// down, gauges with holes, one histogram. If samples are regular, an interval's own rate is irate(), so
// the grid and Prometheus' engine must agree cell by cell.
type world struct {
	mem  *recording.Memory
	grid timeline.Grid
}

func drawWorld(t *rapid.T) world {
	w := world{mem: recording.NewMemory(recording.MemoryOptions{}), grid: timeline.Grid{FromMs: startMs, StepMs: 1000, N: seconds}}
	whole := rapid.IntRange(1, 5000) // never 0: the engines differ on 0/0, see TestNothingOverNothing
	for _, dev := range []string{"sda", "nvme1n1", "nvme2n1"} {
		for _, name := range []string{"c_a", "c_b"} {
			if dev == "nvme2n1" && name == "c_b" {
				continue // a series without a partner
			}
			v := 0.0
			w.add(t, labels.FromStrings("__name__", name, "device", dev, "instance", "db-1"), func(int) float64 {
				v += float64(whole.Draw(t, "step"))
				return v
			})
		}
		w.add(t, labels.FromStrings("__name__", "g_a", "device", dev, "instance", "db-1"), func(int) float64 {
			return float64(rapid.IntRange(-100, 100).Draw(t, "gauge"))
		})
	}

	w.add(t, labels.FromStrings("__name__", "g_one"), func(int) float64 { return float64(rapid.IntRange(0, 3).Draw(t, "one")) })
	les := []string{"0.001", "0.002", "0.004", "0.008", "+Inf"}

	counts := make([][]float64, len(les))
	for k := range seconds {
		var below float64
		for i := range les {
			below += float64(rapid.IntRange(0, 20).Draw(t, "observations"))
			last := 0.0
			if k > 0 {
				last = counts[i][k-1]
			}
			counts[i] = append(counts[i], last+below)
		}
	}

	for i, le := range les {
		w.add(t, labels.FromStrings("__name__", "h_bucket", "le", le, "instance", "db-1"), func(k int) float64 { return counts[i][k] })
	}

	return w
}

func (w world) add(t *rapid.T, ls labels.Labels, value func(k int) float64) {
	b := recording.Batch{Columns: []recording.Column{{Labels: ls}}}
	for k := range seconds {
		b.TimesMs = append(b.TimesMs, startMs+int64(k)*1000)
		b.Columns[0].Values = append(b.Columns[0].Values, value(k))
	}
	if err := w.mem.Append(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
}

// leaves puts the samples of the recording on the grid.
type leaves struct{ w world }

func (l leaves) Each(sel *parser.VectorSelector, counter bool, visit func(timeline.Track) error) error {
	how := l.w.grid.Gauge
	if counter {
		how = l.w.grid.Rate
	}

	series, err := l.w.mem.Samples(context.Background(), recording.MustSelector(sel.String()), l.w.grid.Time(0), l.w.grid.Time(seconds-1))
	if err != nil {
		return err
	}

	for _, s := range series {
		if err := visit(timeline.Track{Labels: s.Labels, Values: how(s.Points)}); err != nil {
			return err
		}
	}
	return nil
}

// drawExpr draws an expression of the subset that results in a vector by device, or in a single value.
func drawExpr(t *rapid.T, depth int) string {
	n := func() string { return fmt.Sprint(rapid.IntRange(-50, 3000).Draw(t, "number")) }
	leaf := rapid.SampledFrom([]string{
		"g_a", "irate(c_a[2s])", "irate(c_b[2s])", `irate(c_a{device=~"nvme.*"}[2s])`, `g_a{device!="sda"}`,
		`label_replace(irate(c_b[2s]), "device", "x-$1", "device", "nvme(.*)")`,
		"g_a > bool 10", "abs(g_a)", "clamp_min(g_a, 5)", "clamp_max(g_a, 5)", "-g_a",
	})

	if depth <= 0 {
		return leaf.Draw(t, "leaf")
	}

	sub := func() string { return "(" + drawExpr(t, depth-1) + ")" }
	switch rapid.SampledFrom([]string{"leaf", "arith", "scalar", "compare", "set", "aggregate", "on"}).Draw(t, "node") {
	case "arith":
		if rapid.Bool().Draw(t, "divide") {
			return sub() + " / " + rapid.SampledFrom([]string{"irate(c_a[2s])", "irate(c_b[2s])"}).Draw(t, "divisor")
		}
		return sub() + rapid.SampledFrom([]string{" + ", " - ", " * "}).Draw(t, "op") + sub()
	case "scalar":
		if rapid.Bool().Draw(t, "divide") {
			return sub() + " / " + fmt.Sprint(rapid.IntRange(1, 3000).Draw(t, "divisor"))
		}
		return sub() + rapid.SampledFrom([]string{" + ", " - ", " * "}).Draw(t, "op") + n()
	case "compare":
		op := rapid.SampledFrom([]string{" > ", " >= ", " < ", " <= ", " == ", " != "}).Draw(t, "op")
		if rapid.Bool().Draw(t, "left") {
			return n() + op + sub()
		}
		return sub() + op + rapid.SampledFrom([]string{n(), "(" + leaf.Draw(t, "right") + ")"}).Draw(t, "operand")
	case "set":
		return sub() + rapid.SampledFrom([]string{" and ", " or ", " unless "}).Draw(t, "op") + sub()
	case "aggregate":
		agg := rapid.SampledFrom([]string{"sum", "max", "min", "avg", "count"}).Draw(t, "aggregate")
		return agg + " by (device, instance) " + sub()
	case "on":
		return sub() + " and on() (" + rapid.SampledFrom([]string{"max", "sum", "min"}).Draw(t, "aggregate") + sub() + " > " + n() + ")"
	}

	return leaf.Draw(t, "leaf")
}

// One definition works for this program and for a Prometheus server: the grid evaluates any expression
// of the subset as the engine does.
func TestEvalAgreesWithPrometheus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for range 6 {
			compare(t, w, drawExpr(t, rapid.IntRange(0, 3).Draw(t, "depth")))
		}
	})
}

// Forms that the pack uses but random expressions rarely produce.
func TestEvalAgreesOnSignalShapes(t *testing.T) {
	exprs := []string{
		`histogram_quantile(0.99, sum by (le, instance) (irate(h_bucket[2s])))`,
		`histogram_quantile(0.5, irate(h_bucket[2s]))`,
		`sum(irate(c_a[2s])) / sum(irate(c_b[2s]))`,
		`irate(c_a[2s]) / irate(c_b[2s])`,
		`1 - sum(irate(c_a{device=~"sda|nvme1n1"}[2s])) / sum(irate(c_a[2s]))`,
		`g_a > 10 and irate(c_a[2s]) < 2000`,
		`g_a > on() max(irate(c_a[2s])) / 100`,
		`irate(c_a[2s]) > 100 and on(device) g_a > 0`,
		`irate(c_a[2s]) * on(instance, device) g_a`,
		`irate(c_a[2s]) / ignoring(device) group_left sum without (device) (irate(c_a[2s]))`,
		`count by (instance) (g_a > 0)`,
		`count(g_one == 1)`,
		`max_over_time(g_a[5s])`, `min_over_time(g_a[5s])`, `avg_over_time(g_a[5s])`, `sum_over_time(g_a[5s])`, `last_over_time(g_a[5s])`,
		`2 * 3 + 1`,
		`sum by (device) (g_a) or sum by (instance) (g_a)`,
		`sum({__name__=~"c_.+"})`,
	}
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, e := range exprs {
			compare(t, w, e)
		}
	})
}

// The one difference: 0/0, an await without I/O, is a NaN sample in Prometheus, and count, "and" and max
// include it. On the grid it is unknown, as if there were no sample.
func TestNothingOverNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		e, err := parser.NewParser(parser.Options{}).ParseExpr(`count((g_a * 0) / (g_a * 0))`)
		if err != nil {
			t.Fatal(err)
		}

		tracks, err := timeline.Eval(w.grid, e, leaves{w})
		if err != nil {
			t.Fatal(err)
		}

		for _, tr := range tracks {
			if n := timeline.Count(tr.Values); n > 0 {
				t.Fatalf("0/0 is known in %d cells", n)
			}
		}
	})
}

// compare evaluates with both engines and compares the cells in which either has a value, starting
// where the grid's trailing windows are full.
func compare(t *rapid.T, w world, expr string) {
	t.Helper()
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}

	want, err := w.mem.Range(context.Background(), expr, w.grid.Time(0), w.grid.Time(seconds-1), time.Second, time.Second)
	if err != nil {
		return // a many-to-many match, which the grid need not refuse
	}

	tracks, err := timeline.Eval(w.grid, e, leaves{w})
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}

	got := map[string][]float64{}
	for _, tr := range tracks {
		k := labels.NewBuilder(tr.Labels).Del("__name__").Labels().String()
		if _, twice := got[k]; twice {
			t.Fatalf("%s: two tracks %s", expr, k)
		}
		got[k] = tr.Values
	}

	const from = 5
	seen := map[string][]float64{}
	for _, s := range want {
		k := labels.NewBuilder(s.Labels).Del("__name__").Labels().String()
		vals := seen[k]
		if vals == nil {
			vals = make([]float64, seconds)
			for i := range vals {
				vals[i] = math.NaN()
			}
			seen[k] = vals
		}

		for _, p := range s.Points {
			vals[(p.T-startMs)/1000] = p.F
		}
	}

	for k, vals := range seen {
		for i := from; i < seconds; i++ {
			g := math.NaN()
			if got[k] != nil {
				g = got[k][i]
			}
			if !same(g, vals[i]) {
				t.Fatalf("%s\ncell %d of %s: the grid says %v, Prometheus %v", expr, i, k, g, vals[i])
			}
		}
	}

	for k, vals := range got {
		for i := from; i < seconds; i++ {
			if seen[k] == nil && !math.IsNaN(vals[i]) {
				t.Fatalf("%s\ncell %d of %s: the grid says %v, Prometheus nothing", expr, i, k, vals[i])
			}
		}
	}
}

func same(a, b float64) bool {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return math.IsNaN(a) == math.IsNaN(b)
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		return a == b
	}
	return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}
