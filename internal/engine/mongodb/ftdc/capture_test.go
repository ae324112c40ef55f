package ftdc

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// realCaptures is the folder of captures of real servers, if there is one. They contain host names
// and are not part of the repository.
const realCaptures = "../../../../../shared/data/ftdc"

// realPath returns the path of a real capture, or skips the test.
func realPath(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(realCaptures, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the real capture %s not found (expected in ../shared/data/ftdc, next to the repository's root)", name)
	}
	return path
}

// A sink is a writer that keeps what it receives and checks the promises of recording.Writer.
type sink struct {
	t  tester
	mu sync.Mutex

	series map[string][]sample
	names  map[string]string // metric names of the series
	notes  []recording.Note
	source recording.Source
	append int // batches
}

// A tester is what testing.T and rapid.T have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

type sample struct {
	ms int64
	v  float64
}

func newSink(t tester) *sink {
	return &sink{t: t, series: map[string][]sample{}, names: map[string]string{}}
}

func (s *sink) Append(_ context.Context, b *recording.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.append++

	for i := 1; i < len(b.TimesMs); i++ {
		if b.TimesMs[i] <= b.TimesMs[i-1] {
			s.t.Errorf("batch %d: time %d after %d", s.append, b.TimesMs[i], b.TimesMs[i-1])
		}
	}

	seen := map[string]bool{}
	for _, c := range b.Columns {
		key := c.Labels.String()
		if seen[key] {
			s.t.Errorf("batch %d: two columns %s", s.append, key)
		}

		seen[key] = true
		if len(c.Values) != 1 && len(c.Values) != len(b.TimesMs) {
			s.t.Errorf("batch %d: %s: %d values for %d times", s.append, key, len(c.Values), len(b.TimesMs))
			continue
		}

		s.names[key] = c.Labels.Get(labels.MetricName)
		had := s.series[key]
		for i, ms := range b.TimesMs {
			if n := len(had); n > 0 && had[n-1].ms >= ms {
				s.t.Errorf("batch %d: %s: time %d after %d", s.append, key, ms, had[n-1].ms)
			}
			had = append(had, sample{ms, c.Values[min(i, len(c.Values)-1)]})
		}

		s.series[key] = had
	}

	return nil
}

func (s *sink) Note(n recording.Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, n)
}

func (s *sink) Source(src recording.Source) { s.source = src }

func (s *sink) kinds() map[recording.NoteKind]int {
	m := map[recording.NoteKind]int{}
	for _, n := range s.notes {
		m[n.Kind]++
	}
	return m
}

// last returns the newest value of the series with a name and pairs of labels.
func (s *sink) last(name string, pairs ...string) float64 {
	col := s.series[labels.FromStrings(append([]string{labels.MetricName, name}, pairs...)...).String()]
	if len(col) == 0 {
		return math.NaN()
	}
	return col[len(col)-1].v
}

// read reads a path into a sink.
func read(t tester, path string, opt source.Options) *sink {
	t.Helper()
	src, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	w := newSink(t)
	if err := src.Read(context.Background(), w, opt); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestReal8 checks the write-heavy capture against its known figures.
func TestReal8(t *testing.T) {
	w := read(t, realPath(t, "metrics.visualzhou-example"), source.Options{})
	s := w.source
	if s.Samples != 600 || s.Period != time.Second || s.Engine != "mongodb" || s.Kind != "ftdc" {
		t.Errorf("samples %d, period %v, engine %q, kind %q", s.Samples, s.Period, s.Engine, s.Kind)
	}

	// Three of the 3,479 metrics repeat a path: two mounts have the same name.
	if len(w.series) != 3476 {
		t.Errorf("%d series, want 3476", len(w.series))
	}

	for key, want := range map[string]string{
		"cores": "8", "storage_engine": "wiredTiger", "os_type": "Linux", "process": "mongod",
		"memory_bytes": "33026998272", "parameter.syncdelay": "1", "journal_commit_interval_ms": "100",
	} {
		if s.Facts[key] != want {
			t.Errorf("fact %s is %q, want %q", key, s.Facts[key], want)
		}
	}

	if got := w.last("mongodb_ss_wt_cache_pages_evicted_by_application_threads"); got != 1466668 {
		t.Errorf("%v application evictions, want 1466668", got)
	}

	if len(w.notes) != 0 {
		t.Errorf("notes: %+v", w.notes)
	}
}

// The number of cores does not affect the result.
func TestParallel(t *testing.T) {
	path := realPath(t, "v3.6.3")
	one := read(t, path, source.Options{Parallel: 1})
	four := read(t, path, source.Options{Parallel: 4})

	if one.source.Samples != 4458+241 {
		t.Errorf("%d samples, %+v", one.source.Samples, one.notes)
	}

	if !maps.EqualFunc(one.series, four.series, func(a, b []sample) bool {
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			if a[i] != b[i] {
				return false
			}
		}
		return true
	}) {
		t.Error("one core and four cores give different samples")
	}
}
