//go:build linux

package worker

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
)

// Acknowledged writes survive a crash, with every kind of journaling.
func TestAcknowledgedIsDurable(t *testing.T) {
	for name, tt := range map[string]struct {
		engine  string
		volumes []string
		opt     options
	}{
		"oplog":             {engine: "oplog: true"},
		"short entries":     {engine: "oplog: true, log_bytes: 300B"},
		"alone":             {engine: "oplog: false, indexes: 1"},
		"separate journal":  {engine: "oplog: true", volumes: []string{"journal"}},
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
					// A write in progress at the power loss may be present as well.
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

// acknowledge writes from 8 connections, each to its own keys, and kills the server meanwhile. It
// returns the last acknowledged seq of each key.
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
			t.Fatal("nothing was acknowledged")
		}
	}

	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}

	all.Wait()
	return last
}

// Without a log, the last checkpoint's state remains: older, but consistent.
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
				t.Errorf("a log that does not exist was synced %d times", n)
			}

			restart(t, s)
			for key := range uint64(50) {
				has(t, s, key, 1, true)
				has(t, s, 2000+key, 0, false)
				if n := size(t, s, key); n != 4000 {
					t.Errorf("document %d has %v: not from one checkpoint", key, n)
				}
			}
		})
	}
}

// Writes that do not wait are journaled shortly afterwards.
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
