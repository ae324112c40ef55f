package main

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// All times of a recording whose clock is an hour behind are shifted by an hour, in requests and in
// results.
func TestShifted(t *testing.T) {
	ctx := context.Background()
	t0 := time.Unix(1_790_000_000, 0).UTC()
	mem := recording.NewMemory(recording.MemoryOptions{})
	b := recording.Batch{TimesMs: []int64{t0.UnixMilli(), t0.Add(time.Second).UnixMilli()},
		Columns: []recording.Column{{Labels: labels.FromStrings("__name__", "a"), Values: []float64{1, 2}}}}

	if err := mem.Append(ctx, &b); err != nil {
		t.Fatal(err)
	}

	mem.Source(recording.Source{Name: "x", From: t0, To: t0.Add(time.Second)})
	mem.Note(recording.Note{Kind: recording.NoteLimit, Text: "without a time"})
	s := shifted{Reader: mem, by: time.Hour}

	want := t0.Add(time.Hour)

	if got := s.Sources()[0].From; !got.Equal(want) {
		t.Errorf("the source begins at %v, want %v", got, want)
	}

	if got := s.Notes()[0]; !got.From.IsZero() {
		t.Errorf("a note without a time has %v", got.From)
	}

	metrics, err := s.Metrics(ctx)
	if err != nil || len(metrics) != 1 || !metrics[0].From.Equal(want) {
		t.Errorf("metrics %v, %v: want one from %v on", metrics, err, want)
	}

	for range 2 { // running it twice shifts nothing twice
		series, err := s.Samples(ctx, recording.MetricSelector("a"), want, want.Add(time.Second))
		if err != nil || len(series) != 1 || len(series[0].Points) != 2 || series[0].Points[0].T != want.UnixMilli() {
			t.Fatalf("samples %v, %v: want two from %v on", series, err, want)
		}
	}

	series, err := s.Range(ctx, "a", want, want.Add(time.Second), time.Second, time.Second)
	if err != nil || len(series) != 1 || series[0].Points[0].T != want.UnixMilli() {
		t.Errorf("range %v, %v: want it from %v on", series, err, want)
	}

	if series, err := s.Samples(ctx, recording.MetricSelector("a"), t0, t0.Add(time.Second)); err != nil || len(series) != 0 {
		t.Errorf("samples at its own time: %v, %v, want none", series, err)
	}
}
