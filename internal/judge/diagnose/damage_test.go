package diagnose_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
)

// A capture that is torn so early that nothing can be diagnosed says which file is, and where.
func TestNothingBecauseOfDamage(t *testing.T) {
	m := recording.NewMemory(recording.MemoryOptions{})
	b := &recording.Batch{TimesMs: []int64{1_700_000_000_000}, Columns: []recording.Column{{
		Labels: labels.FromStrings("__name__", "node_disk_io_time_seconds_total", "device", "sda"), Values: []float64{1}}}}
	if err := m.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	m.Source(recording.Source{Kind: "ftdc", Name: "diagnostic.data"})
	m.Note(recording.Note{Kind: recording.NoteDamage, Source: "diagnostic.data", File: "metrics.1", Offset: 4711, Text: "torn"})
	_, err := diagnose.Run(t.Context(), []recording.Reader{m}, diagnose.Options{Pack: pack})
	if !errors.Is(err, diagnose.ErrNothing) || !strings.Contains(err.Error(), "torn (metrics.1, byte 4711)") {
		t.Errorf("error %v", err)
	}
}
