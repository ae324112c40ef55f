package document

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// writes are 1,000 writes in four slots of ten seconds, of which ten stall.
func writes() Density {
	return Density{StepS: 10, BoundsS: []float64{0.001, 0.002, 0.004, 0.008},
		Counts: [][]float64{{100, 150, 0, 0, 0}, {0, 240, 0, 0, 10}, {250, 0, 0, 0, 0}, {50, 150, 50, 0, 0}}}
}

// The extreme classes are open, so that they are drawn as wide as their neighbours.
func TestClasses(t *testing.T) {
	h := writes()
	var got []string
	for class := range 5 {
		got = append(got, fmt.Sprintf("%s: %.4g to %.4g", h.Between(class), h.Lower(class), h.Upper(class)))
	}
	const want = `up to 1 ms: 0.0005 to 0.001
1 ms to 2 ms: 0.001 to 0.002
2 ms to 4 ms: 0.002 to 0.004
4 ms to 8 ms: 0.004 to 0.008
over 8 ms: 0.008 to 0.016`
	if strings.Join(got, "\n") != want {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	if first, last, most := h.Used(); first != 0 || last != 4 || most != 250 {
		t.Errorf("used from %d to %d, at most %v", first, last, most)
	}
	if first, last, most := (Density{BoundsS: []float64{1}, Counts: [][]float64{{0, 0}}}).Used(); last >= first ||
		most != 0 {
		t.Errorf("without operations: from %d to %d, %v", first, last, most)
	}
}

// The table of a heat map merges classes and slots, and loses no operation.
func TestTabulateHeatMap(t *testing.T) {
	f := writes().HeatMap(&Timeline{ToS: 40, Elapsed: true}, "writes")
	const want = `from | up to 1 ms | 1 ms to 2 ms | 2 ms to 4 ms | 4 ms to 8 ms | over 8 ms | ` + `
0:00 | 100 | 150 | – | – | – | ` + `
0:10 | – | 240 | – | – | 10 | ` + `
0:20 | 250 | – | – | – | – | ` + `
0:30 | 50 | 150 | 50 | – | – | `
	if got := rowsOf(f.Table); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if f.Caption != "Each cell counts the operations of 10.0 s at that latency; a stronger colour means more, up to 250. Each colour level is about five times the previous one." {
		t.Error(f.Caption)
	}

	// The last slot ends with the timeline, not after it.
	if got := *f.Table.Rows[3][0].Zoom; got != (Window{30, 40}) {
		t.Errorf("the last row shows %v", got)
	}
	short := writes().HeatMap(&Timeline{ToS: 37, Elapsed: true}, "writes")
	if got := *short.Table.Rows[3][0].Zoom; got != (Window{30, 37}) {
		t.Errorf("the last row of a shorter timeline shows %v", got)
	}
}

// However classes and slots are merged, the table has every operation once.
func TestTabulateKeepsOperations(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := Density{StepS: 1}
		for bound := 1e-5; len(h.BoundsS) < rapid.IntRange(2, 60).Draw(r, "classes"); bound *= 1.3 {
			h.BoundsS = append(h.BoundsS, bound)
		}
		total := 0.0
		for range rapid.IntRange(1, 100).Draw(r, "slots") {
			column := make([]float64, len(h.BoundsS)+1)
			n := float64(rapid.IntRange(1, 999).Draw(r, "n"))
			column[rapid.IntRange(0, len(h.BoundsS)).Draw(r, "class")] += n
			total += n
			h.Counts = append(h.Counts, column)
		}

		tab := h.Tabulate(&Timeline{ToS: float64(len(h.Counts)), Elapsed: true}, "writes")
		sum := 0.0
		for _, row := range tab.Rows {
			for _, c := range row[1:] {
				var n float64
				if text := strings.ReplaceAll(c.Text, ",", ""); text != "–" {
					if _, err := fmt.Sscan(text, &n); err != nil {
						r.Fatal(err)
					}
				}
				sum += n
			}
		}
		if sum != total || len(tab.Rows) > heatRows {
			r.Fatalf("%v of %v operations in %d rows", sum, total, len(tab.Rows))
		}
		if got := h.Everything("all").Total(); got != total {
			r.Fatalf("all are %v of %v", got, total)
		}
	})
}

// A distribution has a column for each part, and says where there are too few operations for a percentile.
func TestDistribution(t *testing.T) {
	h := writes()
	stalled := Population{Name: "in stalls", Counts: []float64{0, 40, 0, 0, 10}}
	f := h.Distribution("writes", stalled, h.Everything("").Without("outside", stalled))
	const want = `share of operations | all | in stalls | outside | ` + `
operations | 1,000 | 50 | 950 | ` + `
p50 | 1.19 ms | 1.63 ms | 1.15 ms | ` + `
p90 | 1.93 ms | over 8 ms | 1.91 ms | ` + `
p95 | 2.40 ms | over 8 ms | 2.10 ms | ` + `
p99 | 4.00 ms | too few | 3.62 ms | ` + `
p99.9 | over 8 ms | too few | too few | `
	if got := rowsOf(f.Table); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if strings.Join(f.Keys, ",") != "all,in stalls,outside" {
		t.Errorf("keys %q", f.Keys)
	}
	if f := h.Distribution("writes"); f.Keys != nil {
		t.Errorf("one curve needs no key: %q", f.Keys)
	}
	if f := (Density{BoundsS: []float64{1, 2}, Counts: [][]float64{{0, 0, 0}}}).Distribution("writes"); f != nil {
		t.Error("a distribution of no operation")
	}
	if note := f.Table.Rows[2][1].Note; note != "1 ms to 2 ms" {
		t.Errorf("the class of a percentile: %q", note)
	}
}

// A percentile never falls as the share grows, and it is within the class that it is found in.
func TestQuantileIsMonotone(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := writes()
		p := Population{
			Counts: rapid.SliceOfN(rapid.Float64Range(0, 1e6), 5, 5).Draw(r, "counts"),
			Unseen: rapid.Float64Range(0, 1e6).Draw(r, "unseen"),
		}
		before := 0.0
		for _, q := range []float64{0.01, 0.25, 0.5, 0.9, 0.99, 0.9999, 1} {
			x, class := h.Quantile(p, q)
			switch {
			case math.IsNaN(x):
				if p.Total() > 0 {
					r.Fatalf("the quantile %v is not known", q)
				}
			case x < before, class > 0 && class < 4 && (x < h.Lower(class) || x > h.Upper(class)):
				r.Fatalf("the quantile %v is %v in the class %d, after %v", q, x, class, before)
			}
			before = x
		}
	})
}

// Operations that were too fast to be sampled are below all classes, and the caption says so.
func TestDescribeUnseen(t *testing.T) {
	h := writes()
	if got := h.Describe(h.Everything("")); strings.Contains(got, "samples") {
		t.Error(got)
	}
	h.Unseen = 3000
	if got := h.Describe(h.Everything("")); !strings.Contains(got, "at most this long: 4,000 operations") ||
		!strings.Contains(got, "For 75 % of them, no sample caught an operation waiting") {
		t.Error(got)
	}
}

// Fractional numbers of operations are estimates: one that is not zero is never shown as zero.
func TestCounted(t *testing.T) {
	for n, want := range map[float64]string{-1: "–", 0: "–", 0.4: "< 1", 0.5: "1", 1: "1", 1234.5: "1,235", 12_390_000: "12,390,000"} {
		if got := Counted(n); got != want {
			t.Errorf("%v: %s, want %s", n, got, want)
		}
	}
}
