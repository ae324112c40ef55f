//go:build linux

package worker

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
)

const updates = "arrivals: {poisson: 100/s}, mix: {update: 100%}, keys: {count: 1000}, document: {size: 4kB}"

func write(t testing.TB, s *server, kind workload.Kind, key, seq uint64, size, document units.Size) {
	t.Helper()
	op := lab.Op{Op: workload.Op{Kind: kind, Key: key, Size: size, Document: document}, Seq: seq}
	if err := s.Do(t.Context(), 0, &op); err != nil {
		t.Fatal(err)
	}
}

// has fails unless a document has the given seq, or does not exist if found is false.
func has(t testing.TB, s *server, key, seq uint64, found bool) {
	t.Helper()
	got, there, err := s.Read(t.Context(), key)
	if err != nil || there != found || got != seq {
		t.Errorf("document %d: seq %d, %v, %v; want %d, %v", key, got, there, err, seq, found)
	}
}

// size returns the size of a document, according to the worker.
func size(t testing.TB, s *server, key uint64) units.Size {
	t.Helper()
	body, err := s.current().call(t.Context(), kindRead, func(b []byte) ([]byte, error) {
		return append(b, byte(key), byte(key>>8), 0, 0, 0, 0, 0, 0), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, n, found, err := parseRead(body)
	if err != nil || !found {
		t.Fatalf("document %d: %v, %v", key, found, err)
	}
	return units.Size(n)
}

func restart(t testing.TB, s *server) {
	t.Helper()
	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// checkpoint makes a checkpoint and returns when it is done.
func checkpoint(t testing.TB, s *server) {
	t.Helper()
	if _, err := s.current().call(t.Context(), kindCheckpoint, nil); err != nil {
		t.Fatal(err)
	}
}

func TestOperations(t *testing.T) {
	s := started(t, machine(t, yaml(updates, "checkpoint: 60s, indexes: 2")), options{})
	if !strings.HasPrefix(s.Describe(), "WiredTiger ") {
		t.Errorf("it describes itself as %q", s.Describe())
	}

	for _, key := range []uint64{0, 1, 999} {
		has(t, s, key, 0, true)
		if n := size(t, s, key); n != 4000 {
			t.Errorf("document %d is loaded with %v", key, n)
		}
	}

	has(t, s, 1000, 0, false)
	write(t, s, workload.Update, 7, 1, 4000, 4000)
	write(t, s, workload.Insert, 1000, 2, 500, 500)
	write(t, s, workload.Update, 1001, 3, 10, 600) // a missing document
	write(t, s, workload.Push, 7, 4, 40, 4040)
	write(t, s, workload.Update, 7, 5, 300, 4100)
	write(t, s, workload.Update, 8, 6, 3000, 3000) // a document that shrinks
	has(t, s, 7, 5, true)
	has(t, s, 1000, 2, true)
	has(t, s, 1001, 3, true)

	for key, want := range map[uint64]units.Size{7: 4100, 1000: 500, 1001: 600, 8: 3000} {
		if n := size(t, s, key); n != want {
			t.Errorf("document %d has %v, not %v", key, n, want)
		}
	}

	for _, kind := range []workload.Kind{workload.Read, workload.Scan} {
		op := lab.Op{Op: workload.Op{Kind: kind, Key: 990, Size: 40_000, Document: 40_000}}
		if err := s.Do(t.Context(), 3, &op); err != nil {
			t.Error(err)
		}
	}

	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}

	if err := s.Stop(t.Context()); err != nil {
		t.Error("stopped twice:", err)
	}

	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	has(t, s, 7, 5, true)
}

// Compression leaves about the requested share.
func TestCompression(t *testing.T) {
	if _, err := findSnappy(); err != nil {
		t.Skip(err)
	}

	loaded := func(compression string) float64 {
		s := started(t, machine(t, yaml(updates, "compression: "+compression)), options{})
		return float64(engineStatistics(t, s)["block-manager: bytes written"])
	}

	whole := loaded("100%")
	if whole < 1000*4000 {
		t.Errorf("%v bytes were written of 4 MB loaded", whole)
	}

	for compression, want := range map[string]float64{"70%": 0.7, "40%": 0.4} {
		if got := loaded(compression) / whole; got < want-0.08 || got > want+0.08 {
			t.Errorf("%s: %.2f is left", compression, got)
		}
	}
}

func syncs(t testing.TB, s *server) int64 {
	return engineStatistics(t, s)["log: log sync operations"]
}

func engineStatistics(t testing.TB, s *server) map[string]int64 {
	t.Helper()
	body, err := s.current().call(t.Context(), kindStatistics, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, lines, err := parseTime(body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	if err := parseStatistics(lines, func(s statistic) { out[s.section+": "+s.name] = s.value }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCycles(t *testing.T) {
	begin := time.Now()
	s := started(t, machine(t, yaml(updates, "checkpoint: 100ms")), options{})

	var cycles []lab.Cycle
	for end := time.Now().Add(patience); len(cycles) < 3; time.Sleep(10 * time.Millisecond) {
		var err error
		if cycles, err = s.Cycles(t.Context()); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("%d checkpoints", len(cycles))
		}
	}

	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}

	cycles, _ = s.Cycles(t.Context())
	last := begin
	for i, c := range cycles {
		if c.From.Before(last) || c.To.Before(c.From) {
			t.Errorf("checkpoint %d: %v to %v, the previous one until %v", i, c.From, c.To, last)
		}
		last = c.To
	}
}

// The oplog is truncated to its size, but never what a recovery needs.
func TestOplogIsTruncated(t *testing.T) {
	s := started(t, machine(t, yaml(updates, "checkpoint: 100ms")), options{oplog: 100 * units.KB})
	truncated := func() int64 {
		for name, n := range engineStatistics(t, s) {
			if strings.HasPrefix(name, "cursor: ") && strings.HasSuffix(name, "truncate calls") {
				return n
			}
		}
		t.Fatal("no statistic of truncations")
		return 0
	}

	seq := uint64(0)
	for end := time.Now().Add(patience); truncated() < 5; {
		for key := range uint64(20) {
			seq++
			write(t, s, workload.Update, key, seq, 4000, 4000)
		}
		if time.Now().After(end) {
			t.Fatal("the oplog grows")
		}
	}

	restart(t, s)
	for key := range uint64(20) {
		has(t, s, key, seq-19+key, true)
	}
}
