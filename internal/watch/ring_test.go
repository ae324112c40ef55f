package watch_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
	"plimsoll/internal/watch"
)

// A faultyRing has a disk that is full for some time, or slow.
type faultyRing struct {
	*recording.Memory
	full func() bool
	wait time.Duration

	mu    sync.Mutex
	tries int
}

func (r *faultyRing) Append(ctx context.Context, b *recording.Batch) error {
	time.Sleep(r.wait)
	if r.full != nil && r.full() {
		r.mu.Lock()
		r.tries++
		r.mu.Unlock()
		return fmt.Errorf("record to /data: write-ahead log: %w", syscall.ENOSPC)
	}
	return r.Memory.Append(ctx, b)
}

func (*faultyRing) Bytes() (int64, error) { return 12345, nil }

// A full disk only stops the ring, which resumes once there is space; each is logged once.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ring := &faultyRing{Memory: recording.NewMemory(recording.MemoryOptions{}), full: func() bool {
			since := time.Since(begin)
			return since > 100*time.Second && since < 400*time.Second
		}}

		w := start(t, watch.Options{Pack: testkit.Pack(), Ring: ring}, newStalling(nil))
		time.Sleep(300 * time.Second)
		if _, text := w.get("/metrics"); !contains(text, "plimsoll_ring_writing 0", "plimsoll_ring_bytes 12345") {
			t.Errorf("while the disk is full:\n%s", text)
		}

		time.Sleep(300 * time.Second)
		stopped, again := w.log.said(t, "cannot write the ring on disk; watching continues in memory"), w.log.said(t, "writing the ring on disk again")
		if len(stopped) != 1 || len(again) != 1 {
			t.Errorf("log: %v", w.log.all(t))
		}

		if r := w.Report(); r == nil || r.Stalls.Of < 560 {
			t.Errorf("the window in memory has gaps: %+v", r)
		}

		w.end()
		if ring.tries < 5 || ring.tries > 15 {
			t.Errorf("%d writes to a full disk in 5 minutes", ring.tries)
		}

		checkGap(t, ring.Memory, begin)
	})
}

// checkGap checks that the ring has the samples from before and after the disk was full, and a
// note.
func checkGap(t *testing.T, ring *recording.Memory, begin time.Time) {
	t.Helper()
	out, err := ring.Samples(context.Background(), recording.MetricSelector("not_read_by_any_rule"), begin, begin.Add(time.Hour))
	if err != nil || len(out) != 1 {
		t.Fatalf("%d series, %v", len(out), err)
	}

	kept := len(out[0].Points)
	gaps := 0
	for _, n := range ring.Notes() {
		if n.Kind == recording.NoteGap && n.To.Sub(n.From) >= 300*time.Second {
			gaps++
		}
	}

	if kept < 230 || kept > 300 || gaps != 1 {
		t.Errorf("%d samples of 600, %d notes of the gap: %+v", kept, gaps, ring.Notes())
	}
}

// A disk that takes a minute to respond delays neither samples nor the shutdown, and its queue is
// bounded.
func TestSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring := &faultyRing{Memory: recording.NewMemory(recording.MemoryOptions{}), wait: time.Minute}
		w := start(t, watch.Options{Pack: testkit.Pack(), Ring: ring, Every: time.Minute}, newStalling(nil))
		time.Sleep(10 * time.Minute)
		if r := w.Report(); r == nil || r.Stalls.Of < 500 {
			t.Errorf("the window in memory has gaps: %+v", r)
		}
		before := time.Now()
		w.end()
		if took := time.Since(before); took > 2*time.Second {
			t.Errorf("the shutdown took %s", took)
		}
		time.Sleep(24 * time.Hour) // the writer's goroutine ends once the disk has responded
	})
}

// What a killed watch recorded is kept, and the next one continues it.
func TestRingOnDisk(t *testing.T) {
	dir := t.TempDir()
	for run := range 2 {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(run) * time.Hour)
			ring, err := recording.Create(dir, recording.DiskOptions{Keep: 24 * time.Hour})
			if err != nil {
				t.Fatal(err)
			}

			w := start(t, watch.Options{Pack: testkit.Pack(), Ring: ring, Every: time.Minute}, newStalling(nil))
			time.Sleep(2 * time.Minute)

			// Others can read the ring while it is being written.
			r, err := recording.Open(dir)
			if err != nil {
				t.Fatal(err)
			}

			if sources := r.Sources(); len(sources) != 1 || sources[0].Version != "8.0.0" {
				t.Errorf("sources %+v", sources)
			}

			if err := r.Close(); err != nil {
				t.Error(err)
			}

			w.end()
			if err := ring.Close(); err != nil {
				t.Error(err)
			}
		})
	}

	r, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	defer r.Close()
	metrics, err := r.Metrics(t.Context())
	if err != nil || len(metrics) != 10 || metrics[0].To.Sub(metrics[0].From) < time.Hour {
		t.Errorf("metrics %+v, %v", metrics, err)
	}

	gaps := 0
	for _, n := range r.Notes() {
		if n.Kind == recording.NoteGap {
			gaps++
		}
	}

	if gaps != 1 {
		t.Errorf("notes %+v, want one about the hour between", r.Notes())
	}
}
