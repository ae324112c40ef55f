package watch_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
	"plimsoll/internal/watch"
)

// A tracer reports that mongod waits behind dd.
type tracer struct {
	unavailable error

	mu       sync.Mutex
	began    []time.Time
	lasted   []time.Duration
	programs []string
	open     int
}

func (f *tracer) Available() error { return f.unavailable }

func (f *tracer) Trace(ctx context.Context, programs []string, lasts time.Duration) (*recording.Batch, error) {
	from := time.Now()
	f.mu.Lock()
	f.began, f.programs = append(f.began, from), programs
	f.open++
	f.mu.Unlock()

	select {
	case <-ctx.Done():
	case <-time.After(lasts):
	}

	f.mu.Lock()
	f.open--
	f.lasted = append(f.lasted, time.Since(from))
	f.mu.Unlock()
	b := &recording.Batch{}

	waited, slower := recording.Column{Labels: labels.FromStrings("__name__", "plimsoll_trace_wait_seconds_total", "program", "mongod", "wait", "sync", "stage", "device_queue", "behind", "dd", "why", "fsync")},
		recording.Column{Labels: labels.FromStrings("__name__", "plimsoll_trace_slower_than_seconds", "target", "mongod")}
	for s := range int(time.Since(from).Seconds()) + 1 {
		b.TimesMs = append(b.TimesMs, from.Add(time.Duration(s)*time.Second).UnixMilli())
		waited.Values, slower.Values = append(waited.Values, float64(s)), append(slower.Values, 0.02)
	}

	b.Columns = []recording.Column{waited, slower}
	return b, nil
}

// seen returns when traces began and how long they lasted.
func (f *tracer) seen() (began []time.Time, lasted []time.Duration, open int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.began), slices.Clone(f.lasted), f.open
}

// A stall is traced once, within seconds of its beginning and for a limited time. The verdict reports
// the measurement, the ring stores it, and ending the watch ends a trace.
func TestStallIsTraced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, ring := &tracer{}, recording.NewMemory(recording.MemoryOptions{})
		src := newStalling(func(second int) bool { return second > 120 && second <= 200 || second > 400 })
		w := start(t, watch.Options{Pack: testkit.Pack(), Push: ring, Tracing: watch.TracingOptions{Tracer: fake}}, src)
		begin := time.Now()
		time.Sleep(119 * time.Second)

		if began, _, _ := fake.seen(); len(began) > 0 {
			t.Fatalf("traced before any stall: %v", began)
		}

		time.Sleep(20 * time.Second)
		if _, text := w.get("/metrics"); !strings.Contains(text, "plimsoll_trace_active 1") {
			t.Errorf("in the stall: %s", text)
		}

		time.Sleep(60 * time.Second)
		began, lasted, _ := fake.seen()
		if len(began) != 1 || len(lasted) != 1 || lasted[0] != 30*time.Second || began[0].Sub(begin) > 130*time.Second || !slices.Contains(fake.programs, "mongod") {
			t.Fatalf("in a stall of 80 s that began after 120 s: traces began at %v, lasted %v, of %v", began, lasted, fake.programs)
		}

		if status, text := w.get("/metrics"); status != http.StatusOK || !strings.Contains(text, "plimsoll_trace_active 0") || !strings.Contains(text, "plimsoll_traces_total 1") ||
			!strings.Contains(text, "plimsoll_trace_seconds_total 30") || !strings.Contains(text, `plimsoll_finding{kind="cause",rule="host/another-program"`) {
			t.Errorf("after the trace: %d %s", status, text)
		}

		if r := w.Report(); !strings.Contains(r.Verdict, "Traced waits of slow calls of mongod: 100 % behind the writes of dd's sync.") {
			t.Errorf("verdict %q", r.Verdict)
		}

		time.Sleep(210 * time.Second) // about 9 s into the second stall
		if _, _, open := fake.seen(); open != 1 {
			t.Errorf("%d traces are running in the second stall", open)
		}

		w.end()
		began, lasted, open := fake.seen()
		if open != 0 || len(began) != 2 || len(lasted) != 2 || lasted[1] >= 30*time.Second {
			t.Errorf("after the end: %d are running; they lasted %v", open, lasted)
		}

		if kept, err := ring.Samples(t.Context(), recording.MetricSelector("plimsoll_trace_wait_seconds_total"), begin, time.Now()); err != nil || len(kept) != 1 {
			t.Errorf("kept: %v, %v", kept, err)
		}
	})
}

// With repeated stalls, tracing is limited to a total time per hour.
func TestTracingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &tracer{}
		src := newStalling(func(second int) bool { return second > 60 && second%120 < 20 })
		w := start(t, watch.Options{Pack: testkit.Pack(), Window: 5 * time.Minute, Tracing: watch.TracingOptions{Tracer: fake, For: 20 * time.Second, PerHour: 50 * time.Second}}, src)
		time.Sleep(20 * time.Minute)
		w.end()
		_, lasted, _ := fake.seen()
		if !slices.Equal(lasted, []time.Duration{20 * time.Second, 20 * time.Second, 10 * time.Second}) {
			t.Errorf("traces of %v, want 50 s in total", lasted)
		}
	})
}

// If tracing is not possible, one line says so, and everything else works.
func TestTracingUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &tracer{unavailable: errors.New("CAP_BPF is missing")}
		w := start(t, watch.Options{Pack: testkit.Pack(), Window: 3 * time.Minute, Tracing: watch.TracingOptions{Tracer: fake}}, newStalling(func(second int) bool { return second > 60 }))
		time.Sleep(2 * time.Minute)
		if said := w.log.said(t, "cannot trace here; everything else works"); len(said) != 1 || said[0]["error"] != "CAP_BPF is missing" {
			t.Errorf("logged %v", w.log.all(t))
		}
		if began, _, _ := fake.seen(); len(began) > 0 || len(w.changes.said(t, "clients are stalled")) != 1 {
			t.Errorf("%d traces; %v", len(began), w.changes.all(t))
		}
		w.end()
	})
}
