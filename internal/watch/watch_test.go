package watch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
	"plimsoll/internal/watch"
)

// A stalling source is a MongoDB on a volume: 500 writes per second of 2 ms, except for seconds in
// which they take 1 s and the volume is at its limit of 3,000 IOPS.
type stalling struct {
	*source.Polled
	stalls func(second int) bool
	fails  func(second int) error

	second int
	took   float64 // microseconds
	ops    float64
	busy   float64
	writes float64
}

func newStalling(stalls func(second int) bool) *stalling {
	return &stalling{Polled: source.NewPolled(recording.Source{Kind: "test", Name: "mongodb://db:27017", Engine: "mongodb"}), stalls: stalls}
}

func (s *stalling) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	return s.Poll(ctx, w, opt, s)
}

func (s *stalling) Sample(_ context.Context, at time.Time) ([]recording.Batch, error) {
	s.second++
	ops, latency, busy, writes := 500.0, 0.002, 0.3, 800.0
	if s.stalls != nil && s.stalls(s.second) {
		ops, latency, busy, writes = 200, 1, 1, 3000
	}

	s.ops += ops
	s.took += ops * latency * 1e6
	s.busy += busy
	s.writes += writes

	if s.fails != nil {
		if err := s.fails(s.second); err != nil {
			return nil, err
		}
	}

	b := recording.Batch{TimesMs: []int64{at.UnixMilli()}}
	add := func(v float64, name string, kv ...string) {
		b.Columns = append(b.Columns, recording.Column{Labels: labels.FromStrings(append([]string{"__name__", name}, kv...)...), Values: []float64{v}})
	}
	add(s.took, "mongodb_ss_opLatencies_latency", "op_type", "writes")
	add(s.ops, "mongodb_ss_opLatencies_ops", "op_type", "writes")
	add(s.busy, "node_disk_io_time_seconds_total", "device", "nvme1n1")
	add(s.writes, "node_disk_writes_completed_total", "device", "nvme1n1")
	add(s.writes*16384, "node_disk_written_bytes_total", "device", "nvme1n1")
	add(0, "node_disk_reads_completed_total", "device", "nvme1n1")
	add(s.writes*0.005, "node_disk_write_time_seconds_total", "device", "nvme1n1")
	add(s.writes*0.005, "node_disk_io_time_weighted_seconds_total", "device", "nvme1n1")
	add(1e9+s.writes, "mongodb_ss_wt_block_manager_bytes_written")
	add(float64(s.second), "not_read_by_any_rule")

	return []recording.Batch{b}, nil
}

func (*stalling) AddFacts(d *recording.Source) { d.Version = "8.0.0" }

// lines collects log lines in JSON.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// all returns the lines so far, decoded.
func (l *lines) all(t *testing.T) (out []map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, m)
	}
	return out
}

// said returns the lines with this message.
func (l *lines) said(t *testing.T, msg string) (out []map[string]any) {
	for _, m := range l.all(t) {
		if m["msg"] == msg {
			out = append(out, m)
		}
	}
	return out
}

// watched is a running Watch.
type watched struct {
	*watch.Watch
	changes, log *lines
	end          func()
}

func start(t *testing.T, opt watch.Options, sources ...source.Source) *watched {
	w := &watched{changes: &lines{}, log: &lines{}}
	opt.Changes = slog.New(slog.NewJSONHandler(w.changes, nil))
	opt.Log = slog.New(slog.NewJSONHandler(w.log, nil))
	opt.CPU = func() time.Duration { return 0 } // a test's cost must not limit it

	var inputs []watch.Input
	for _, s := range sources {
		inputs = append(inputs, watch.Input{Source: s, Options: source.Options{Period: time.Second}})
	}

	w.Watch = watch.New(inputs, opt)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	w.end = func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}

	return w
}

// get calls the handler without a network.
func (w *watched) get(path string) (status int, body string) {
	rec := httptest.NewRecorder()
	w.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
	text, _ := io.ReadAll(rec.Body)
	return rec.Code, string(text)
}

// A stall is reported within seconds of its beginning, and its cause with the next diagnosis. The end of each
// is reported too.
func TestStallIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newStalling(func(second int) bool { return second > 120 && second <= 150 })
		w := start(t, watch.Options{Pack: testkit.Pack(), Window: 3 * time.Minute, Every: 30 * time.Second}, src)
		defer w.end()
		began := time.Now()
		time.Sleep(120*time.Second - time.Millisecond)

		if all := w.changes.all(t); len(all) != 0 {
			t.Errorf("before any stall: %v", all)
		}

		time.Sleep(6 * time.Second)
		stalls := w.changes.said(t, "clients are stalled")
		if len(stalls) != 1 || stalls[0]["subject"] != "MongoDB writes" || stalls[0]["latency"] != "1.00 s" || stalls[0]["usual"] != "2.00 ms" {
			t.Fatalf("six seconds into the stall: %v", w.changes.all(t))
		}

		if since, err := time.Parse(time.RFC3339Nano, stalls[0]["since"].(string)); err != nil || since.Sub(began).Round(10*time.Second) != 120*time.Second {
			t.Errorf("since %v, %s after the beginning", stalls[0]["since"], since.Sub(began))
		}

		// The stall continues; the pack judged it soon after it began.
		time.Sleep(10 * time.Second)
		if status, text := w.get("/metrics"); status != http.StatusOK || !strings.Contains(text, `plimsoll_stall_in_progress{subject="MongoDB writes"} 1`) ||
			!strings.Contains(text, `plimsoll_finding{kind="symptom",rule="mongodb/slow-writes"`) {
			t.Errorf("status %d, metrics:\n%s", status, text)
		}

		time.Sleep(40 * time.Second)
		if over := w.changes.said(t, "the stall is over"); len(over) != 1 || over[0]["lasted"] != "30.0 s" || over[0]["worst"] != "1.00 s" {
			t.Errorf("after the stall: %v", w.changes.all(t))
		}

		time.Sleep(4 * time.Minute) // until it has left the window
		found, ended := 0, 0
		for _, m := range w.changes.all(t) {
			switch m["event"] {
			case "found":
				found++
			case "ended":
				ended++
			}
		}

		if found == 0 || ended != found {
			t.Errorf("%d findings began, %d ended: %v", found, ended, w.changes.all(t))
		}

		if _, text := w.get("/metrics"); strings.Contains(text, "plimsoll_finding{") || !strings.Contains(text, `plimsoll_stalls_total 1`) {
			t.Errorf("after all is over:\n%s", text)
		}
	})
}

// A finding that is over clears within two minutes, although it stays in the window for fifteen.
func TestClearsWhenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newStalling(func(second int) bool { return second > 120 && second <= 150 })
		w := start(t, watch.Options{Pack: testkit.Pack(), Every: 30 * time.Second}, src)
		defer w.end()
		critical := func() (active, all int) {
			_, text := w.get("/metrics")
			for line := range strings.Lines(text) {
				switch {
				case !strings.Contains(line, `severity="critical"`):
				case strings.HasPrefix(line, "plimsoll_finding{"):
					all++
				case strings.HasPrefix(line, "plimsoll_finding_active{") && strings.HasSuffix(line, " 1\n"):
					active++
				}
			}
			return active, all
		}

		time.Sleep(145 * time.Second)
		if active, all := critical(); active == 0 || active != all {
			t.Errorf("in the stall %d of %d critical findings are active: %v", active, all, w.changes.all(t))
		}

		time.Sleep(125 * time.Second)
		if active, all := critical(); active != 0 || all == 0 {
			t.Errorf("two minutes after the stall %d of %d critical findings are active", active, all)
		}

		if _, text := w.get("/"); !strings.Contains(text, "the findings below are from before") {
			t.Error("the page does not say that it is over")
		}

		found, cleared := 0, 0
		for _, m := range w.changes.all(t) {
			switch {
			case m["severity"] != "critical":
			case m["event"] == "found":
				found++
			case m["event"] == "cleared":
				cleared++
			}
		}

		if found == 0 || cleared != found {
			t.Errorf("%d critical findings began, %d cleared: %v", found, cleared, w.changes.all(t))
		}
	})
}

// Findings of stalls that recur every minute stay active in between, and clear when the stalls
// stop.
func TestRecurringStallsStayActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newStalling(func(second int) bool { return second > 60 && second < 600 && second%60 < 8 })
		w := start(t, watch.Options{Pack: testkit.Pack(), Every: 30 * time.Second}, src)
		defer w.end()
		active := func() bool {
			_, text := w.get("/metrics")
			return strings.Contains(text, `plimsoll_finding_active{kind="symptom",rule="mongodb/slow-writes",severity="critical",subject="MongoDB writes"} 1`)
		}

		time.Sleep(400 * time.Second)
		for range 5 {
			if time.Sleep(31 * time.Second); !active() {
				t.Error("nothing is active between two stalls")
			}
		}

		if time.Sleep(190 * time.Second); active() {
			t.Error("still active three minutes after the last stall")
		}
	})
}

// Stalls that recur every minute are reported three times in ten minutes, and then only counted.
func TestManyStallsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newStalling(func(second int) bool { return second > 60 && second%60 < 8 })
		w := start(t, watch.Options{Pack: testkit.Pack(), Window: 2 * time.Minute, Every: time.Minute}, src)
		defer w.end()
		time.Sleep(15 * time.Minute)
		each, counted := w.changes.said(t, "clients are stalled"), w.changes.said(t, "clients stalled repeatedly")
		if len(each) < 4 || len(each) > 6 || len(counted) != 1 {
			t.Errorf("%d reported, %d counted", len(each), len(counted))
		}
	})
}

// The pages: nothing before the first diagnosis, then the contract of diagnose -o json.
func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, watch.Options{Pack: testkit.Pack()}, newStalling(func(second int) bool { return second > 30 && second < 50 }))
		defer w.end()
		synctest.Wait()

		for path, want := range map[string]int{"/-/healthy": 200, "/-/ready": 503, "/": 503, "/api/report": 503, "/metrics": 200, "/debug/pprof/": 404, "/other": 404} {
			if status, _ := w.get(path); status != want {
				t.Errorf("%s: status %d before the first diagnosis, want %d", path, status, want)
			}
		}

		if _, text := w.get("/api/report"); !json.Valid([]byte(text)) {
			t.Errorf("no JSON: %s", text)
		}

		time.Sleep(90 * time.Second)
		status, text := w.get("/api/report")
		var r diagnose.Report
		if err := json.Unmarshal([]byte(text), &r); err != nil || status != 200 || r.Version != diagnose.Version || r.Stalls.Seconds < 10 {
			t.Errorf("status %d, error %v, report %+v", status, err, r.Stalls)
		}

		if status, text := w.get("/"); status != 200 || !strings.Contains(text, "<html") || !strings.Contains(text, r.Stalls.Signal) {
			t.Errorf("page: status %d, %d bytes", status, len(text))
		}

		if status, _ := w.get("/-/ready"); status != 200 {
			t.Errorf("ready: status %d", status)
		}

		rec := httptest.NewRecorder()
		w.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/api/report", nil))
		if rec.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST: status %d", rec.Code)
		}
	})
}

// The metrics' names and descriptions follow Prometheus conventions.
func TestMetricsLint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring, err := recording.Create(t.TempDir(), recording.DiskOptions{Keep: time.Hour})
		if err != nil {
			t.Fatal(err)
		}

		w := start(t, watch.Options{Pack: testkit.Pack(), Ring: ring}, newStalling(func(second int) bool { return second > 30 }), newStalling(nil))
		time.Sleep(100 * time.Second)
		problems, err := testutil.GatherAndLint(w.Registry())
		if err != nil {
			t.Fatal(err)
		}

		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}

		w.end()
		if err := ring.Close(); err != nil {
			t.Error(err)
		}
	})
}

// An unreadable source is reported once when it disappears and once when it comes back; its earlier
// samples are kept.
func TestSourceGoesAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newStalling(nil)
		src.fails = func(second int) error {
			if second > 100 && second <= 112 {
				return errors.New("connection refused")
			}
			return nil
		}

		w := start(t, watch.Options{Pack: testkit.Pack()}, src)
		defer w.end()
		time.Sleep(115 * time.Second)

		if _, text := w.get("/metrics"); !strings.Contains(text, `plimsoll_source_up{source="mongodb://db:27017"} 0`) {
			t.Errorf("15 s without samples, metrics:\n%s", text)
		}

		time.Sleep(3 * time.Minute)
		gone, back := w.log.said(t, "the source delivers no samples; still trying"), w.log.said(t, "the source delivers samples again")
		if len(gone) != 1 || len(back) != 1 {
			t.Errorf("log: %v", w.log.all(t))
		}

		r := w.Report()
		if r == nil || r.Stalls.Of < 200 || !slices.ContainsFunc(r.Findings, func(f diagnose.Finding) bool { return f.Rule == "evidence/gap" }) {
			t.Errorf("the gap is not in the diagnosis: %+v", r.Findings)
		}
	})
}

// Expensive work is done less often: diagnoses that take half a second of CPU time run every 100 s,
// but the clients are still checked.
func TestCostIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var used time.Duration
		log := &lines{}
		src := newStalling(func(second int) bool { return second > 300 && second < 320 })
		w := watch.New([]watch.Input{{Source: src, Options: source.Options{Period: time.Second}}}, watch.Options{Pack: testkit.Pack(),
			Changes: slog.New(slog.NewJSONHandler(log, nil)),
			// Each step calls this twice.
			CPU: func() time.Duration { used += 500 * time.Millisecond; return used },
		})

		ctx, cancel := context.WithTimeout(t.Context(), 1000*time.Second)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}

		families, err := w.Registry().Gather()
		if err != nil {
			t.Fatal(err)
		}

		for _, f := range families {
			if n := f.GetMetric()[0].GetCounter().GetValue(); f.GetName() == "plimsoll_diagnoses_total" && (n < 9 || n > 11) {
				t.Errorf("%v diagnoses in 1,000 s", n)
			}
		}

		if n := len(log.said(t, "clients are stalled")); n != 1 {
			t.Errorf("%d stalls were reported", n)
		}
	})
}
