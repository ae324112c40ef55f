package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// A receiver that accepts requests and never answers does not block recording: all samples are
// written, and those that were not pushed are counted.
func TestSilentReceiverDoesNotStopRecording(t *testing.T) {
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))

	defer silent.Close()
	defer close(release)

	push := &pushOptions{url: silent.URL + "/api/v1/write"}
	steady, err := newSteadyPusher(t.Context(), push, &sourceOptions{})
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	disk, err := recording.Create(dir, recording.DiskOptions{})
	if err != nil {
		t.Fatal(err)
	}

	const samples = 3 * pushQueued
	q := newPushQueue(steady.ctx, steady)
	w := both{disk, q}

	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for k := range samples {
		b := &recording.Batch{TimesMs: []int64{start.Add(time.Duration(k) * time.Second).UnixMilli()},
			Columns: []recording.Column{{Labels: labels.FromStrings("__name__", "m"), Values: []float64{float64(k)}}}}
		if err := w.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}

	lost, why := q.end(50 * time.Millisecond)
	if lost == 0 || why == nil {
		t.Errorf("%d samples were lost: %v", lost, why)
	}

	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}

	r, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	defer func() { _ = r.Close() }()
	series, err := r.Samples(t.Context(), recording.MetricSelector("m"), start, start.Add(samples*time.Second))
	if err != nil || len(series) != 1 || len(series[0].Points) != samples {
		t.Fatalf("%d series, %v: want one with %d samples", len(series), err, samples)
	}
}
