package recording_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/record/recording"
)

// walkLimit is the maximum number of samples of a query in these tests.
const walkLimit = 1000

// manySamples appends three series of 70,000 s and one of 10 s.
func manySamples(t *testing.T, w recording.Writer) {
	t.Helper()
	const seconds = 70_000
	for from := 0; from < seconds; from += 10_000 {
		b := &recording.Batch{}
		for s := range 10_000 {
			b.TimesMs = append(b.TimesMs, int64(from+s+1)*1000)
		}

		for cpu := range 3 {
			c := recording.Column{Labels: labels.FromStrings("__name__", "node_cpu_seconds_total", "cpu", fmt.Sprint(cpu))}
			for s := range 10_000 {
				c.Values = append(c.Values, float64((from+s)*(cpu+1)))
			}
			b.Columns = append(b.Columns, c)
		}

		if err := w.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}

	few := &recording.Batch{Columns: []recording.Column{{Labels: labels.FromStrings("__name__", "node_cpu_seconds_total", "cpu", "few"), Values: []float64{1}}}}
	for s := range 10 {
		few.TimesMs = append(few.TimesMs, int64(s+1)*1000)
	}

	if err := w.Append(t.Context(), few); err != nil {
		t.Fatal(err)
	}
}

// whole is a Reader that can only return whole series.
type whole struct{ recording.Reader }

func (w whole) Walk(ctx context.Context, selector recording.Selector, from, to time.Time, visit recording.Visit) error {
	return recording.WalkStretches(ctx, w.Samples, selector, from, to, visit)
}

// walked joins the pieces of a walk.
func walked(t *testing.T, r recording.Reader, from, to time.Time) (out []recording.Series) {
	t.Helper()
	err := r.Walk(t.Context(), recording.MetricSelector("node_cpu_seconds_total"), from, to, func(l labels.Labels, points []promql.FPoint) error {
		if n := len(out); n == 0 || !labels.Equal(out[n-1].Labels, l) {
			out = append(out, recording.Series{Labels: l})
		}
		last := &out[len(out)-1]
		last.Points = append(last.Points, points...)
		clear(points) // they may be changed
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWalkBeyondTheLimitOfSamples: a walk reads more samples than a query may hold, unchanged.
func TestWalkBeyondTheLimitOfSamples(t *testing.T) {
	all := recording.NewMemory(recording.MemoryOptions{})
	limited := recording.NewMemory(recording.MemoryOptions{Query: recording.QueryOptions{MaxSamples: walkLimit}})
	dir := filepath.Join(t.TempDir(), "rec")

	disk, err := recording.Create(dir, recording.DiskOptions{BlockSamples: 50_000})
	if err != nil {
		t.Fatal(err)
	}

	for _, w := range []recording.Writer{all, limited, disk} {
		manySamples(t, w)
	}

	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}

	folder, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	defer folder.Close()

	for _, span := range [][2]int64{{0, 80_000_000}, {1500, 66_000_000}, {3000, 3000}} {
		from, to := time.UnixMilli(span[0]), time.UnixMilli(span[1])
		want, err := all.Samples(t.Context(), recording.MetricSelector("node_cpu_seconds_total"), from, to)
		if err != nil {
			t.Fatal(err)
		}

		if _, err := limited.Samples(t.Context(), recording.MetricSelector("node_cpu_seconds_total"), from, to); span[1] > span[0] && !recording.IsTooMany(err) {
			t.Fatalf("from %v to %v: Samples is not limited: %v", span[0], span[1], err)
		}

		for name, r := range map[string]recording.Reader{"memory": limited, "folder": folder, "whole series": whole{limited}} {
			got := walked(t, r, from, to)
			if !slices.EqualFunc(got, want, func(a, b recording.Series) bool {
				return labels.Equal(a.Labels, b.Labels) && slices.Equal(a.Points, b.Points)
			}) {
				t.Errorf("%s from %v to %v ms: %d series, want %d with the same samples", name, span[0], span[1], len(got), len(want))
			}
		}
	}
}

// TestWalkEnds: an error of the visitor and the end of the context stop a walk.
func TestWalkEnds(t *testing.T) {
	m := recording.NewMemory(recording.MemoryOptions{})
	manySamples(t, m)
	enough := errors.New("enough")
	calls := 0

	err := m.Walk(t.Context(), recording.MetricSelector("node_cpu_seconds_total"), time.UnixMilli(0), time.UnixMilli(80_000_000), func(labels.Labels, []promql.FPoint) error {
		calls++
		return enough
	})
	if !errors.Is(err, enough) || calls != 1 {
		t.Errorf("%d calls and %v, want one and the visitor's error", calls, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	calls = 0
	err = m.Walk(ctx, recording.MetricSelector("node_cpu_seconds_total"), time.UnixMilli(0), time.UnixMilli(80_000_000), func(labels.Labels, []promql.FPoint) error {
		calls++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d calls and %v, want one and a canceled context", calls, err)
	}
}

// TestPickAndPushBeyondTheLimitOfSamples: copies of a recording are made in pieces as well.
func TestPickAndPushBeyondTheLimitOfSamples(t *testing.T) {
	limited := recording.NewMemory(recording.MemoryOptions{Query: recording.QueryOptions{MaxSamples: walkLimit}})
	manySamples(t, limited)
	const samples = 3*70_000 + 10
	count := func(r recording.Reader) (n int) {
		for _, s := range walked(t, r, time.UnixMilli(0), time.UnixMilli(80_000_000)) {
			n += len(s.Points)
		}
		return n
	}

	picked, err := recording.Pick(t.Context(), whole{limited}, func(string) bool { return true }, func(l labels.Labels) (labels.Labels, bool) { return l, true })
	if err != nil {
		t.Fatal(err)
	}

	if n := count(picked); n != samples {
		t.Errorf("picked %d samples of %d", n, samples)
	}

	pushed := recording.NewMemory(recording.MemoryOptions{})
	if err := recording.Push(t.Context(), []recording.Reader{limited}, func(int) recording.Writer { return pushed }, time.Time{}, time.Time{}, nil); err != nil {
		t.Fatal(err)
	}

	if n := count(pushed); n != samples {
		t.Errorf("pushed %d samples of %d", n, samples)
	}
}
