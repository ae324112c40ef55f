package main

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/record/export"
	"plimsoll/internal/record/recording"
)

// odd are metric names that are not PromQL selectors, as in Prometheus 3 and OpenTelemetry.
var odd = []string{"http.server.duration", `quo"te`, "node disk", "µs", "up"}

// largeRecording has more samples of each metric than a query may hold.
func largeRecording(t *testing.T) *recording.Memory {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{Query: recording.QueryOptions{MaxSamples: 1000}})

	b := &recording.Batch{}
	for s := range 900 {
		b.TimesMs = append(b.TimesMs, int64(s+1)*1000)
	}

	for _, name := range odd {
		for cpu := range 3 {
			c := recording.Column{Labels: labels.FromStrings("__name__", name, "cpu", fmt.Sprint(cpu))}
			for s := range b.TimesMs {
				c.Values = append(c.Values, float64(s*cpu))
			}
			b.Columns = append(b.Columns, c)
		}
	}

	if err := m.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}

	return m
}

// samplesOf counts a recording's samples by metric.
func samplesOf(t *testing.T, r recording.Reader) map[string]int {
	t.Helper()
	out := map[string]int{}
	err := r.Walk(t.Context(), recording.EverySeries(), time.UnixMilli(0), time.UnixMilli(2_000_000), func(l labels.Labels, points []promql.FPoint) error {
		out[l.Get("__name__")] += len(points)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCopyAnyNameAndSize: metrics of any name, with more samples than a query may hold, are copied and
// exported whole.
func TestCopyAnyNameAndSize(t *testing.T) {
	from := largeRecording(t)
	to := recording.NewMemory(recording.MemoryOptions{})
	if err := copyReader(t.Context(), from, to, time.Time{}, time.Time{}, &tally{}); err != nil {
		t.Fatal(err)
	}

	copied := samplesOf(t, to)
	for _, name := range odd {
		if copied[name] != 2700 {
			t.Errorf("%q: copied %d samples of 2700", name, copied[name])
		}
	}

	for _, f := range export.Formats {
		sum, err := export.Write(t.Context(), io.Discard, from, f, export.Options{})
		if err != nil {
			t.Errorf("%s: %v", f, err)
		}
		if sum.Samples != int64(2700*len(odd)) || sum.Series != 3*len(odd) || sum.Metrics != len(odd) {
			t.Errorf("%s: exported %+v, want %d samples of 3 series each of %d metrics", f, sum, 2700*len(odd), len(odd))
		}
	}
}

// TestSelectionAnyNameAndSize: the times of a selection's metrics are those of the selected series.
func TestSelectionAnyNameAndSize(t *testing.T) {
	_, matchers, err := parseSelector(`cpu="2"`)
	if err != nil {
		t.Fatal(err)
	}

	metrics, err := selection{largeRecording(t), matchers}.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, m := range metrics {
		names = append(names, m.Name)
		if m.Series != 1 || !m.From.Equal(time.Unix(1, 0)) || !m.To.Equal(time.Unix(900, 0)) {
			t.Errorf("%q: %d series from %v to %v, want 1 from 1 s to 900 s", m.Name, m.Series, m.From, m.To)
		}
	}

	if want := slices.Sorted(slices.Values(odd)); !slices.Equal(names, want) {
		t.Errorf("metrics %q, want %q", names, want)
	}
}
