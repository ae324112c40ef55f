package diagnose_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// If a capture is truncated so early that nothing can be diagnosed, the error names the file and the
// position.
func TestNothingBecauseOfDamage(t *testing.T) {
	m := recording.NewMemory(recording.MemoryOptions{})
	b := &recording.Batch{TimesMs: []int64{1_700_000_000_000}, Columns: []recording.Column{{
		Labels: labels.FromStrings("__name__", "node_disk_io_time_seconds_total", "device", "sda"), Values: []float64{1}}}}
	if err := m.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	m.Source(recording.Source{Kind: "ftdc", Name: "diagnostic.data"})
	m.Note(recording.Note{Kind: recording.NoteDamage, Source: "diagnostic.data", File: "metrics.1", Offset: 4711, Text: "torn"})
	_, err := diagnose.Run(t.Context(), []recording.Reader{m}, diagnose.Options{Pack: testkit.Pack()})
	if !errors.Is(err, diagnose.ErrNothing) || !strings.Contains(err.Error(), "torn (metrics.1, byte 4711)") {
		t.Errorf("error %v", err)
	}
}

// A single sample from the year 2100 in one of many metrics does not decide the span, and the report
// mentions it.
func TestStraySampleIsReported(t *testing.T) {
	m := recording.NewMemory(recording.MemoryOptions{})
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	add := func(at time.Time, value float64, names ...string) {
		b := &recording.Batch{TimesMs: []int64{at.UnixMilli()}}
		for _, n := range names {
			b.Columns = append(b.Columns, recording.Column{Labels: labels.FromStrings("__name__", n, "device", "sda"), Values: []float64{value}})
		}
		if err := m.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}

	var names []string
	for _, s := range testkit.Pack().Signals() {
		for _, n := range regexp.MustCompile(`node_\w+`).FindAllString(strings.Join(s.Exprs, " "), -1) {
			if len(names) < 40 && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}

	for i := range 120 {
		add(start.Add(time.Duration(i)*time.Second), float64(i), names...)
	}

	add(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), 1, names[0])
	m.Source(recording.Source{Kind: "openmetrics", Name: "node.prom"})
	r, err := diagnose.Run(t.Context(), []recording.Reader{m}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	if r.Span.To.Year() != 2026 {
		t.Errorf("the span ends at %s", r.Span.To)
	}

	text := fmt.Sprintf("%+v", r.Findings)
	if !strings.Contains(text, names[0]+" at 2100-01-01") || !strings.Contains(text, "node.prom") {
		t.Errorf("the sample that was left out is not reported: %s", text)
	}
}
