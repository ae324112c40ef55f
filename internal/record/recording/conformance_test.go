package recording

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// The conformance suite: the same batches are appended to a Writer, and every Reader gives the same
// results.

func conform(t *testing.T, r Reader) {
	t.Run("metrics", func(t *testing.T) { conformMetrics(t, r) })
	t.Run("gap", func(t *testing.T) { conformGap(t, r) })
	t.Run("missing", func(t *testing.T) { conformMissing(t, r) })
	t.Run("irate", func(t *testing.T) { conformIrate(t, r) })
	t.Run("expressions", func(t *testing.T) { conformExpressions(t, r) })
	t.Run("samples", func(t *testing.T) { conformSamples(t, r) })
	t.Run("errors", func(t *testing.T) { conformErrors(t, r) })
	t.Run("concurrent", func(t *testing.T) { conformConcurrent(t, r) })
}

func conformMetrics(t *testing.T, r Reader) {
	got, err := r.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	want := []Metric{
		{Name: "c_total", Series: 2, Period: time.Second},
		{Name: "constant", Series: 1, Period: time.Second},
		{Name: "fast_total", Series: 1, Period: 100 * time.Millisecond},
		{Name: "holes", Series: 1, Period: time.Second},
		{Name: "seconds_total", Series: 1, Period: time.Second},
		{Name: "zero", Series: 1, Period: time.Second},
	}

	_, isRemote := r.(*Server)
	for i := range want {
		want[i].From, want[i].To = t0, second(feedSeconds-1)
		switch {
		case isRemote: // the span is that of the query
		case want[i].Name == "fast_total":
			want[i].To = second(59.9)
		case want[i].Name == "holes":
			want[i].To = second(594)
		}
	}

	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("metrics (-want +got):\n%s", d)
	}
}

// ask calls a Range that must succeed.
func ask(t testing.TB, r Reader, expr string, from, to float64, step, lookback time.Duration) []Series {
	t.Helper()
	out, err := r.Range(t.Context(), expr, second(from), second(to), step, lookback)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return out
}

// one returns the only series of a result.
func one(t testing.TB, out []Series) []promql.FPoint {
	t.Helper()
	if len(out) != 1 {
		t.Fatalf("%d series, want one", len(out))
	}
	return out[0].Points
}

// at returns the time of a point, in seconds of the suite.
func at(p promql.FPoint) float64 { return float64(p.T-t0.UnixMilli()) / 1000 }

// Ranges in the suite end between samples, because Prometheus 3 changed whether a sample exactly at the
// far end belongs to the range.
func conformGap(t *testing.T, r Reader) {
	for _, c := range []struct {
		lookback time.Duration
		lost     float64
	}{{2 * time.Second, 201}, {1500 * time.Millisecond, 200.5}, {0, 201.5}} { // default: 2.5 s
		points := one(t, ask(t, r, `c_total{device="a"}`, 190.25, 270.25, 500*time.Millisecond, c.lookback))
		answered := map[float64]bool{}
		for _, p := range points {
			answered[at(p)] = true
			if want := 10 * math.Floor(at(p)); at(p) < gapFrom && p.F != want {
				t.Errorf("at %g s: %g, want %g", at(p), p.F, want)
			}
		}

		for s := 190.25; s <= 270; s += 0.5 {
			if want := s < c.lost || s >= gapTo; answered[s] != want {
				t.Errorf("lookback %s at %g s: answered %v, want %v", c.lookback, s, answered[s], want)
			}
		}
	}
	// The whole gap: no series.
	if out := ask(t, r, `c_total`, 210, 250, time.Second, 2*time.Second); len(out) != 0 {
		t.Errorf("%d series inside of the hole", len(out))
	}
}

func conformMissing(t *testing.T, r Reader) {
	for _, p := range one(t, ask(t, r, `holes`, 0, 199, time.Second, 500*time.Millisecond)) {
		if s := int(at(p)); s%10 >= 5 || p.F != float64(s) {
			t.Errorf("holes at %d s: %g", s, p.F)
		}
	}

	if n := len(one(t, ask(t, r, `holes`, 0, 199, time.Second, 500*time.Millisecond))); n != 100 {
		t.Errorf("holes: %d points, want 100", n)
	}

	if out := ask(t, r, `missing`, 0, 199, time.Second, time.Minute); len(out) != 0 {
		t.Errorf("a series with only NaN values was returned: %v", out)
	}

	for name, want := range map[string]float64{"constant": 42, "zero": 0} {
		points := one(t, ask(t, r, name, 0, 199, time.Second, time.Second))
		if len(points) != 200 {
			t.Errorf("%s: %d points, want 200", name, len(points))
		}
		for _, p := range points {
			if p.F != want {
				t.Fatalf("%s at %g s: %g, want %g", name, at(p), p.F, want)
			}
		}
	}
}

func conformIrate(t *testing.T, r Reader) {
	out := ask(t, r, `irate(c_total[3900ms])`, 2, 599, time.Second, 0)
	if len(out) != 2 {
		t.Fatalf("%d series, want 2", len(out))
	}

	for i, want := range []float64{10, 20} {
		if d := cmp.Diff(labels.FromStrings("device", string(rune('a'+i))).String(), out[i].Labels.String()); d != "" {
			t.Errorf("labels %s", d)
		}

		// Two samples within 3.9 s are required, which holds up to 201 s, and again from 261 s on.
		if n := len(out[i].Points); n != 201-2+1+599-261+1 {
			t.Errorf("series %d: %d points", i, n)
		}

		for _, p := range out[i].Points {
			if math.Abs(p.F-want) > 1e-9 {
				t.Fatalf("at %g s: %g, want %g", at(p), p.F, want)
			}
		}
	}

	fast := one(t, ask(t, r, `irate(fast_total[390ms])`, 1, 50, 100*time.Millisecond, 0))
	if len(fast) != 491 {
		t.Errorf("fast: %d points, want 491", len(fast))
	}

	for _, p := range fast {
		if math.Abs(p.F-50) > 1e-6 {
			t.Fatalf("fast at %g s: %g, want 50", at(p), p.F)
		}
	}
}

func conformExpressions(t *testing.T, r Reader) {
	const lookback = 2 * time.Second
	for _, c := range []struct {
		expr   string
		labels string
		want   func(s float64) float64
	}{
		{`sum(irate(c_total[4s]))`, `{}`, func(float64) float64 { return 30 }},
		{`c_total{device="b"} / on() c_total{device="a"}`, `{}`, func(float64) float64 { return 2 }},
		{`max_over_time(c_total{device="a"}[10s])`, `{device="a"}`, func(s float64) float64 { return 10 * s }},
		{`max_over_time((c_total{device="a"} / 2)[10s:1s])`, `{device="a"}`, func(s float64) float64 { return 5 * s }},
		{`c_total{device!="a"} offset 10s`, `{__name__="c_total", device="b"}`, func(s float64) float64 { return 20 * (s - 10) }},
		{`timestamp(constant)`, `{}`, func(s float64) float64 { return float64(t0.Unix()) + s }},
		{`seconds_total`, `{__name__="seconds_total"}`, func(s float64) float64 { return s * 1234 / 1e6 }},
		{`-constant + bool_gate * 0 or -constant`, `{}`, func(float64) float64 { return -42 }},
		{`count({__name__=~"c_.*|zero"})`, `{}`, func(float64) float64 { return 3 }},
		{`vector(7)`, `{}`, func(float64) float64 { return 7 }},
		{`quantile(0.5, c_total)`, `{}`, func(s float64) float64 { return 15 * s }},
	} {
		out := ask(t, r, c.expr, 100, 150, time.Second, lookback)
		points := one(t, out)
		if got := out[0].Labels.String(); got != c.labels {
			t.Errorf("%s: labels %s, want %s", c.expr, got, c.labels)
		}

		if len(points) != 51 {
			t.Errorf("%s: %d points, want 51", c.expr, len(points))
		}

		for _, p := range points {
			if want := c.want(at(p)); math.Abs(p.F-want) > 1e-9*max(1, math.Abs(want)) {
				t.Errorf("%s at %g s: %g, want %g", c.expr, at(p), p.F, want)
				break
			}
		}
	}

	if n := len(one(t, ask(t, r, `constant`, 100, 100, 0, lookback))); n != 1 {
		t.Errorf("a query of one instant without a step: %d points", n)
	}
}

func conformSamples(t *testing.T, r Reader) {
	out, err := r.Samples(t.Context(), MustSelector(`c_total{device="a"}`), second(198), second(261))
	if err != nil {
		t.Fatal(err)
	}

	want := []promql.FPoint{}
	for _, s := range []float64{198, 199, 260, 261} {
		want = append(want, promql.FPoint{T: second(s).UnixMilli(), F: 10 * s})
	}

	if d := cmp.Diff(want, one(t, out)); d != "" {
		t.Errorf("samples (-want +got):\n%s", d)
	}

	// Late samples were dropped, missing ones are absent.
	out, err = r.Samples(t.Context(), MustSelector(`{__name__=~"c_total|holes|missing"}`), second(580), second(599))
	if err != nil {
		t.Fatal(err)
	}

	if len(out) != 3 {
		t.Fatalf("%d series, want 3", len(out))
	}

	for i, n := range []int{20, 20, 10} {
		if len(out[i].Points) != n {
			t.Errorf("%s: %d samples, want %d", out[i].Labels, len(out[i].Points), n)
		}
		for _, p := range out[i].Points {
			if p.F >= 1e9 || p.F != p.F {
				t.Errorf("%s: a sample of %g", out[i].Labels, p.F)
			}
		}
	}
}

func conformErrors(t *testing.T, r Reader) {
	for _, c := range []struct {
		expr     string
		from, to float64
		step     time.Duration
		want     string
	}{
		{`sum(`, 0, 1, time.Second, `query "sum(": 1:5: parse error`},
		{`constant`, 1, 0, time.Second, "is before the start"},
		{`constant`, 0, 1, 0, "step"},
		{`constant`, 0, 1, time.Microsecond, "1 ms"},
		{`constant[5m]`, 0, 1, time.Second, `query "constant[5m]"`},
		{`constant * on() group_left c_total * ignoring(device) c_total`, 0, 1, time.Second, "matching"},
	} {
		_, err := r.Range(t.Context(), c.expr, second(c.from), second(c.to), c.step, time.Second)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.expr, err, c.want)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Range(ctx, `c_total`, t0, second(1), time.Second, time.Second); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("cancelled: error %v", err)
	}
}

func conformConcurrent(t *testing.T, r Reader) {
	want := fmt.Sprint(ask(t, r, `sum by (device) (irate(c_total[4s]))`, 0, 599, time.Second, 0))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 5 {
				if _, err := r.Metrics(t.Context()); err != nil {
					t.Error(err)
				}
				out, err := r.Range(t.Context(), `sum by (device) (irate(c_total[4s]))`, t0, second(599), time.Second, 0)
				if err != nil {
					t.Error(err)
				}
				if got := fmt.Sprint(out); got != want {
					t.Errorf("goroutine %d: a different answer", i)
				}
			}
		})
	}

	group.Wait()
}

// conformKept checks everything that is stored in addition to the samples.
func conformKept(t *testing.T, r Reader) {
	t.Helper()
	sources := r.Sources()
	if len(sources) != 1 || sources[0].Name != "suite" || sources[0].Engine != "mongodb" || sources[0].Period != time.Second {
		t.Errorf("sources %+v", sources)
	}

	kinds := map[NoteKind]Note{}
	for _, n := range r.Notes() {
		kinds[n.Kind] = n
	}

	if n := kinds[NoteGap]; !n.From.Equal(second(199)) || !n.To.Equal(second(260)) {
		t.Errorf("note of the gap: %+v", n)
	}

	if n := kinds[NoteDropped]; !strings.HasPrefix(n.Text, "dropped 2 samples ") || !strings.Contains(n.Text, "c_total") || n.Source != "suite" {
		t.Errorf("note of dropped samples: %+v", n)
	}
}

func TestConformMemory(t *testing.T) {
	m := NewMemory(MemoryOptions{})
	feed(t, m)
	conform(t, m)
	conformKept(t, m)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Append(t.Context(), &Batch{TimesMs: []int64{1}}); err == nil {
		t.Error("append after close succeeds")
	}
	conformGap(t, m) // still readable
}

func TestConformDisk(t *testing.T) {
	for _, c := range []struct {
		name  string
		opt   DiskOptions
		close bool
	}{
		{"closed", DiskOptions{}, true},
		{"still recorded", DiskOptions{}, false},
		{"many blocks closed", DiskOptions{BlockSamples: 1000}, true},
		{"many blocks still recorded", DiskOptions{BlockSamples: 900}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			d := mustCreate(t, dir, c.opt)
			feed(t, d)

			if c.close {
				mustClose(t, d)
			} else {
				defer mustClose(t, d)
				d.writer <- <-d.writer // wait for the block in progress
				if err := d.saveManifest(stateRecording); err != nil {
					t.Fatal(err)
				}
			}

			r := mustOpen(t, dir)
			defer mustClose(t, r)
			other := mustOpen(t, dir)
			defer mustClose(t, other)
			conform(t, r)
			conform(t, other)
			conformKept(t, r)
		})
	}
}
