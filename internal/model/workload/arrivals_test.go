package workload

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// drawSpec draws arrivals of any open kind.
func drawArrivals(t *rapid.T) *Arrivals {
	freq := func(name string, least float64) units.Frequency {
		return units.Frequency(rapid.Float64Range(least, 20_000).Draw(t, name))
	}
	a := &Arrivals{Spacing: rapid.SampledFrom([]string{"poisson", "constant"}).Draw(t, "spacing")}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		a.Poisson = rate(freq("poisson", 0.01))
	case 1:
		a.Constant = rate(freq("constant", 0.01))
	case 2:
		a.Ramp = &Ramp{From: freq("from", 1), To: freq("to", 1), Over: second + units.Duration(rapid.Int64Range(0, 10e9).Draw(t, "over"))}
	case 3:
		low := freq("low", 1)
		a.Daily = &Daily{Low: low, High: low * 2, Period: minute}
	default:
		for range rapid.IntRange(1, 9).Draw(t, "steps") {
			r := freq("rate", 1)
			if rapid.Bool().Draw(t, "pause") {
				r = 0
			}
			a.Steps = append(a.Steps, Step{Rate: rate(r), For: stepMin + units.Duration(rapid.Int64Range(0, 2e9).Draw(t, "for"))})
		}
		a.Steps = append(a.Steps, Step{Rate: rate(freq("last", 1)), For: second})
	}

	return a
}

// Whatever the kind: instants ascend, and within any window there are as many as the rate says. Evenly
// spaced arrivals match to within two, those of a Poisson process to within six standard deviations.
func TestArrivalsFollowTheRate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := drawArrivals(rt)
		w := resolved(t, Spec{Arrivals: a, Mix: &Mix{Insert: 1}, Document: &Document{Size: 1}})
		from := rapid.Int64Range(0, 3e9).Draw(rt, "window's beginning")
		to := from + rapid.Int64Range(1, 3e9).Draw(rt, "window")

		if w.Duration() > 0 {
			to = min(to, int64(w.Duration()))
			from = min(from, to)
		}

		when := newArrivals(w.schedule, random.Seed(rapid.Uint64().Draw(rt, "seed")))
		var before vtime.Instant

		n := 0.0
		for {
			at, ok := when.next()
			if !ok || at >= vtime.Instant(to) {
				break
			}
			if at < before {
				rt.Fatalf("%d comes after %d", at, before)
			}
			if before = at; at >= vtime.Instant(from) {
				n++
			}
		}

		want := w.schedule.expected(to) - w.schedule.expected(from)
		within := 2.0
		if w.schedule.poisson {
			within = 6*math.Sqrt(want) + 6
		}

		if math.Abs(n-want) > within {
			rt.Errorf("%+v: %.0f arrivals in %d ... %d ns, want %.1f", *a, n, from, to, want)
		}
	})
}

// Evenly spaced arrivals neither drift nor jitter by more than the clock's nanosecond.
func TestConstantDoesNotDrift(t *testing.T) {
	for _, r := range []units.Frequency{3, 7, 800, 2000, 12345.678, RateMax} {
		when := newArrivals(schedule{pieces: []piece{{math.MaxInt64, r}}}, 1)
		for i := range 300_000 {
			at, ok := when.next()
			want := (float64(i) + 0.5) / float64(r) * 1e9
			if !ok || math.Abs(float64(at)-want) > 2 {
				t.Fatalf("%v: arrival %d at %d, want %.1f", r, i, at, want)
			}
		}
	}
}

// The intervals of a Poisson process are exponential: mean and standard deviation are 1, and a fraction
// e^-x exceeds x.
func TestPoissonDistances(t *testing.T) {
	const n = 400_000
	when := newArrivals(schedule{poisson: true, pieces: []piece{{math.MaxInt64, 1e6}}}, 11)
	var before vtime.Instant

	var sum, squares, over1, over3 float64
	for range n {
		at, _ := when.next()
		d := float64(at-before) / 1e3
		before = at
		sum, squares = sum+d, squares+d*d
		if d > 1 {
			over1++
		}
		if d > 3 {
			over3++
		}
	}

	for _, tt := range []struct {
		name                  string
		got, want, deviations float64
	}{
		{"mean", sum / n, 1, 1},
		{"mean square", squares / n, 2, math.Sqrt(20)},
		{"over 1", over1 / n, math.Exp(-1), 0.5},
		{"over 3", over3 / n, math.Exp(-3), 0.25},
	} {
		if math.Abs(tt.got-tt.want) > 5*tt.deviations/math.Sqrt(n)+1e-4 {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

// TestPlots plots rates and sizes over time, from specifications as users write them.
func TestPlots(t *testing.T) {
	datadriven.Walk(t, "testdata/plots", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var spec Spec
			if err := yaml.UnmarshalWithOptions([]byte(d.Input), &spec, yaml.DisallowUnknownField()); err != nil {
				return err.Error() + "\n"
			}

			w, problems := spec.Resolve(testFile)
			if len(problems) > 0 {
				return problems.Error() + "\n"
			}

			var seconds int
			d.ScanArgs(t, "seconds", &seconds)

			switch d.Cmd {
			case "rate":
				return plotRate(w, seconds)
			case "bucket":
				return plotBucket(w, seconds)
			}

			t.Fatalf("no command %s", d.Cmd)
			return ""
		})
	})
}

const plotRows = 30

// plotRate prints the rate of arrivals and of each class over time.
func plotRate(w *Workload, seconds int) string {
	cell := time.Duration(seconds) * time.Second / plotRows
	counts := make([][]float64, plotRows)
	for i := range counts {
		counts[i] = make([]float64, len(w.Classes()))
	}

	run(w, 1, vtime.At(cell*plotRows), func(op *Op) { counts[int(time.Duration(op.At)/cell)][op.Class]++ })
	var most float64

	rates := make([]float64, plotRows)
	for i := range counts {
		for _, n := range counts[i] {
			rates[i] += n / cell.Seconds()
		}
		most = max(most, rates[i])
	}

	var b strings.Builder
	fmt.Fprintf(&b, "%7s %9s\n", "s", "ops/s")

	for i, r := range rates {
		fmt.Fprintf(&b, "%7.1f %9.1f |%s\n", (time.Duration(i) * cell).Seconds(), r, bar(r, most))
	}

	return b.String()
}

func bar(x, most float64) string {
	return strings.Repeat("#", int(math.Round(50*x/max(most, 1e-9))))
}

// plotBucket prints the sizes of the documents to which readings are pushed, and the number of inserted
// documents.
func plotBucket(w *Workload, seconds int) string {
	cell := time.Duration(seconds) * time.Second / plotRows
	var inserts, pushes [plotRows]int
	var size [plotRows]float64
	run(w, 1, vtime.At(cell*plotRows), func(op *Op) {
		i := int(time.Duration(op.At) / cell)
		size[i] += float64(op.Document)
		if op.Kind == Insert {
			inserts[i]++
		} else {
			pushes[i]++
		}
	})

	var b strings.Builder
	fmt.Fprintf(&b, "%7s %8s %8s %9s\n", "s", "inserts", "pushes", "document")

	most := float64(w.DocumentSize())
	for i := range size {
		mean := size[i] / float64(max(1, inserts[i]+pushes[i]))
		fmt.Fprintf(&b, "%7.0f %8d %8d %9s |%s\n", (time.Duration(i) * cell).Seconds(), inserts[i], pushes[i], units.Size(mean), bar(mean, most))
	}

	return b.String()
}
