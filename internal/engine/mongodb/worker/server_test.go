//go:build linux

package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	wiredtigermodel "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
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

// has fails unless a document has a seq; found is false for none.
func has(t testing.TB, s *server, key, seq uint64, found bool) {
	t.Helper()
	got, there, err := s.Read(t.Context(), key)
	if err != nil || there != found || got != seq {
		t.Errorf("document %d: seq %d, %v, %v; want %d, %v", key, got, there, err, seq, found)
	}
}

// size asks the worker how large a document is.
func size(t testing.TB, s *server, key uint64) units.Size {
	t.Helper()
	body, err := s.current().call(t.Context(), newCaller(), kindRead, func(b []byte) ([]byte, error) {
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

// checkpoint has one made, and returns when it is.
func checkpoint(t testing.TB, s *server) {
	t.Helper()
	if _, err := s.current().call(t.Context(), newCaller(), kindCheckpoint, nil); err != nil {
		t.Fatal(err)
	}
}

func TestItServes(t *testing.T) {
	s := started(t, machine(t, yaml(updates, "checkpoint: 60s, indexes: 2")), options{})
	if !strings.HasPrefix(s.Describe(), "WiredTiger ") {
		t.Errorf("it is %q", s.Describe())
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
	write(t, s, workload.Update, 1001, 3, 10, 600) // one that is not there
	write(t, s, workload.Push, 7, 4, 40, 4040)
	write(t, s, workload.Update, 7, 5, 300, 4100)
	write(t, s, workload.Update, 8, 6, 3000, 3000) // one that shrinks
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

// What was acknowledged is there after a crash, in each way to journal.
func TestAcknowledgedIsDurable(t *testing.T) {
	for name, tt := range map[string]struct {
		engine  string
		volumes []string
		opt     options
	}{
		"oplog":             {engine: "oplog: true"},
		"short entries":     {engine: "oplog: true, log_bytes: 300B"},
		"alone":             {engine: "oplog: false, indexes: 1"},
		"a journal's own":   {engine: "oplog: true", volumes: []string{"journal"}},
		"compressed":        {engine: "oplog: true, compression: 50%"},
		"whole documents":   {engine: "oplog: true", opt: options{whole: true}},
		"paced, with index": {engine: "io_capacity: 40MB/s, indexes: 1, eviction_dirty_target: 1%, eviction_dirty_trigger: 2.5%"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, yaml(updates, "checkpoint: 200ms, "+tt.engine, tt.volumes...))
			if strings.Contains(tt.engine, "compression") {
				if _, err := findSnappy(); err != nil {
					t.Skip(err)
				}
			}
			s := started(t, m, tt.opt)
			for round := range uint64(2) {
				last := acknowledge(t, s, round*1000)
				restart(t, s)
				for key, seq := range last {
					got, found, err := s.Read(t.Context(), key)
					// One that was under way when the power went may be there as well.
					if err != nil || !found || got < seq {
						t.Fatalf("round %d, document %d: seq %d, %v, %v; %d was acknowledged", round, key, got, found, err, seq)
					}
				}
			}
			if dir := m.Dirs["journal"]; dir != "" {
				if files, err := filepath.Glob(filepath.Join(dir, "journal", "WiredTigerLog.*")); err != nil || len(files) == 0 {
					t.Errorf("no log on the journal's volume: %v", err)
				}
			}
		})
	}
}

// acknowledge writes from 8 connections, each to keys of its own, and kills the server meanwhile.
// It gives the last acknowledged seq of each key.
func acknowledge(t *testing.T, s *server, from uint64) map[uint64]uint64 {
	t.Helper()
	const connections, before = 8, 160
	var all sync.WaitGroup
	var mu sync.Mutex
	last := map[uint64]uint64{}
	enough := make(chan struct{}, connections)
	for conn := range connections {
		all.Go(func() {
			for i := uint64(0); ; i++ {
				op := lab.Op{Op: workload.Op{Kind: workload.Update, Key: uint64(conn) + connections*(i%20), Size: 100, Document: 4000}, Seq: from + i + 1}
				switch i % 4 {
				case 1:
					op.Kind, op.Document = workload.Push, 4000+units.Size(i)
				case 2:
					op.Size = 4000
				case 3:
					op.Kind, op.Key = workload.Insert, 10_000+op.Seq*connections+uint64(conn)
				}
				if err := s.Do(t.Context(), conn, &op); err != nil {
					return
				}
				mu.Lock()
				last[op.Key] = op.Seq
				mu.Unlock()
				if i == before/connections {
					enough <- struct{}{}
				}
			}
		})
	}
	for range connections {
		select {
		case <-enough:
		case <-time.After(patience):
			t.Fatal("nothing is acknowledged")
		}
	}
	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	return last
}

// Without a log there is what the last checkpoint had: older, and whole.
func TestWithoutALog(t *testing.T) {
	for _, oplog := range []string{"true", "false"} {
		t.Run("oplog "+oplog, func(t *testing.T) {
			s := started(t, machine(t, yaml(updates, "checkpoint: 1h, journal: false, oplog: "+oplog)), options{})
			for key := range uint64(50) {
				write(t, s, workload.Update, key, 1, 4000, 4000)
			}
			checkpoint(t, s)
			for key := range uint64(50) {
				write(t, s, workload.Update, key, 2, 4000, 4100)
				write(t, s, workload.Insert, 2000+key, 2, 100, 100)
			}
			if n := syncs(t, s); n != 0 {
				t.Errorf("a log that is not there was synced %d times", n)
			}
			restart(t, s)
			for key := range uint64(50) {
				has(t, s, key, 1, true)
				has(t, s, 2000+key, 0, false)
				if n := size(t, s, key); n != 4000 {
					t.Errorf("document %d has %v: not one checkpoint's", key, n)
				}
			}
		})
	}
}

// What compression leaves is about what was asked for.
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

// Writes that do not wait are journaled a moment later.
func TestJournalInterval(t *testing.T) {
	s := started(t, machine(t, yaml(updates, "checkpoint: 1h, journal_each_write: false, journal_interval: 20ms")), options{})
	before := syncs(t, s)
	write(t, s, workload.Update, 5, 1, 4000, 4000)
	for end := time.Now().Add(patience); syncs(t, s) == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the log is not synced")
		}
	}
	restart(t, s)
	has(t, s, 5, 1, true)
}

func syncs(t testing.TB, s *server) int64 {
	return engineStatistics(t, s)["log: log sync operations"]
}

func engineStatistics(t testing.TB, s *server) map[string]int64 {
	t.Helper()
	body, err := s.current().call(t.Context(), newCaller(), kindStatistics, nil)
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
			t.Errorf("checkpoint %d: %v to %v, the last one until %v", i, c.From, c.To, last)
		}
		last = c.To
	}
}

// The oplog is cut to its size, and what is needed after a crash is never cut.
func TestOplogIsCut(t *testing.T) {
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

func TestItIsToldWhatIsWrong(t *testing.T) {
	t.Setenv(variable, filepath.Join(t.TempDir(), "none"))
	m := machine(t, yaml(updates, "checkpoint: 60s"))
	cfg := *scenario.ConfigOf[*wiredtigermodel.Config](m.Scenario)
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "make worker") {
		t.Errorf("no worker: %v", err)
	}
	t.Setenv(variable, "")
	t.Setenv("PATH", t.TempDir())
	if _, err := New(cfg); !errors.Is(err, errWorker) || !strings.Contains(err.Error(), "libwiredtiger-dev") {
		t.Errorf("no worker: %v", err)
	}
	other := filepath.Join(t.TempDir(), "other")
	for text, want := range map[string]string{
		"#!/bin/sh\necho hello\n": "is no plimsoll-wiredtiger",
		"#!/bin/sh\necho plimsoll-wiredtiger, protocol 9, WiredTiger 3.2.1\n": "version 9 of the protocol",
		"#!/bin/sh\necho no library >&2; exit 127\n":                          "no library",
	} {
		if err := os.WriteFile(other, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, other)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	cfg.LeafPage = 1
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "leaf_page") {
		t.Errorf("a leaf of a byte: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	m := machine(t, yaml(updates, "checkpoint: 60s"))
	s := started(t, m, options{})
	if err := s.Start(t.Context(), m, nil); err == nil {
		t.Error("it starts twice")
	}
	again, err := newServer(s.cfg, options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Start(t.Context(), m, nil); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("on a database: %v", err)
	}
	if err := again.Stop(t.Context()); err != nil {
		t.Errorf("stopped after it did not start: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late, err := newServer(s.cfg, options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := late.Start(ctx, machine(t, yaml(updates, "checkpoint: 60s")), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a start that was given up: %v", err)
	}
	if late.current() != nil {
		t.Error("it left a worker")
	}
}

// A worker that ends by itself: who waits is told, and why.
func TestWorkerDies(t *testing.T) {
	s := started(t, machine(t, yaml(updates, "checkpoint: 60s")), options{})
	w := s.current()
	op := lab.Op{Op: workload.Op{Kind: workload.Update, Key: 1, Size: 100, Document: 100}, Seq: 1}
	if err := w.send([]byte{1, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; {
		err := s.Do(t.Context(), 0, &op)
		if err != nil {
			if !strings.Contains(err.Error(), "bad frame") {
				t.Errorf("it says %v", err)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("it lives")
		}
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stopped when it is gone: %v", err)
	}
	if err := s.Do(t.Context(), 0, &op); err == nil {
		t.Error("it does without a worker")
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	has(t, s, 0, 0, true)
}

// Operations whose context ends do not confuse those that come after them on the connection.
func TestGivenUp(t *testing.T) {
	s := started(t, machine(t, yaml(updates, "checkpoint: 60s")), options{})
	for i := range uint64(200) {
		ctx, cancel := context.WithCancel(t.Context())
		op := lab.Op{Op: workload.Op{Kind: workload.Read, Key: i}}
		go cancel()
		if err := s.Do(ctx, 0, &op); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		write(t, s, workload.Update, i, i+1, 100, 100)
	}
	for i := range uint64(200) {
		has(t, s, i, i+1, true)
	}
}
