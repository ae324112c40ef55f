//go:build linux

package server

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/units"
	streams "plimsoll/internal/engine/streams/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

// started returns a server on a temporary folder, or skips the test if that does not support direct
// I/O.
func started(t *testing.T, cfg streams.Config) (lab.Server, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := os.OpenFile(filepath.Join(dir, "direct"), os.O_CREATE|os.O_RDWR|unix.O_DIRECT, 0o600)
	if err != nil {
		t.Skipf("no direct I/O here: %v", err)
	}

	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		t.Fatal(err)
	}

	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	m := &lab.Machine{Dirs: map[string]string{"data": dir}, Scenario: &scenario.Scenario{Seed: 7}}
	if err := s.Start(context.Background(), m, nil); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})

	return s, dir
}

func small() streams.Config {
	cfg := streams.Defaults()
	cfg.File, cfg.Data = units.MiB, 2*units.MiB
	return cfg
}

func write(key, seq uint64, size units.Size) *lab.Op {
	return &lab.Op{Op: workload.Op{Key: key, Size: size, Kind: workload.Update}, Seq: seq}
}

func expect(t *testing.T, s lab.Server, key, want uint64) {
	t.Helper()
	if got, found, err := s.Read(context.Background(), key); err != nil || !found || got != want {
		t.Errorf("key %d has seq %d, %v, %v; want %d", key, got, found, err, want)
	}
}

// After a crash each key has its last acknowledged write, although the log has started over several
// times and connections shared their fdatasyncs.
func TestAcknowledgedIsFound(t *testing.T) {
	ctx := context.Background()
	s, _ := started(t, small())
	const conns, each = 4, 300

	var g sync.WaitGroup
	for c := range uint64(conns) {
		g.Go(func() {
			for i := range uint64(each) {
				// Keys of odd rounds are written once and overwritten in the log by later rounds.
				if err := s.Do(ctx, int(c), write(c+conns*(i%5+i%2*i), i+1, 2300)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}

	g.Wait()
	want := map[uint64]uint64{}
	for c := range uint64(conns) {
		for i := range uint64(each) {
			k := c + conns*(i%5+i%2*i)
			want[k] = max(want[k], i+1)
		}
	}

	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}

	if err := s.Do(ctx, 0, write(1, 1, 100)); !errors.Is(err, errDown) {
		t.Errorf("a write after the crash: %v", err)
	}

	if err := s.Restart(ctx); err != nil {
		t.Fatal(err)
	}

	for k, seq := range want {
		expect(t, s, k, seq)
	}

	if _, found, _ := s.Read(ctx, 1<<40); found {
		t.Error("a key that was never written is found")
	}

	// It continues from there and can crash again.
	if err := s.Do(ctx, 0, write(1, 9000, 2300)); err != nil {
		t.Fatal(err)
	}

	if err := errors.Join(s.Crash(), s.Restart(ctx)); err != nil {
		t.Fatal(err)
	}

	want[1] = 9000
	for k, seq := range want {
		expect(t, s, k, seq)
	}
}

// Operations that wait at a power loss get an error, and everything acknowledged is present.
func TestCrashInProgress(t *testing.T) {
	ctx := context.Background()
	s, _ := started(t, small())
	var g sync.WaitGroup
	acknowledged := make([]uint64, 4)

	begun := make(chan struct{}, len(acknowledged))
	for c := range acknowledged {
		g.Go(func() {
			for seq := uint64(1); ; seq++ {
				if err := s.Do(ctx, c, write(uint64(c), seq, 500)); err != nil {
					return
				}
				if acknowledged[c] = seq; seq == 20 {
					begun <- struct{}{}
				}
			}
		})
	}

	for range acknowledged {
		<-begun
	}

	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}

	g.Wait()
	if err := s.Restart(ctx); err != nil {
		t.Fatal(err)
	}

	for c, seq := range acknowledged {
		if got, found, err := s.Read(ctx, uint64(c)); err != nil || !found || got < seq || got > seq+1 {
			t.Errorf("key %d has seq %d, %v, %v; %d was acknowledged", c, got, found, err, seq)
		}
	}
}

// A record that a power loss destroyed is not found, but the previous one is.
func TestLost(t *testing.T) {
	ctx := context.Background()
	s, dir := started(t, small())
	for seq := range uint64(3) {
		if err := s.Do(ctx, 0, write(5, seq+1, 1000)); err != nil {
			t.Fatal(err)
		}
	}

	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}

	f, err := os.OpenFile(filepath.Join(dir, "stream.log"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}

	_, err = f.WriteAt(make([]byte, 100), 2500) // torn in the middle
	if err := errors.Join(err, f.Close(), s.Restart(ctx)); err != nil {
		t.Fatal(err)
	}

	expect(t, s, 5, 2)
}

func TestRandomWrites(t *testing.T) {
	ctx := context.Background()
	cfg := small()
	cfg.RandomWrites = true

	s, _ := started(t, cfg)
	for key := range uint64(600) { // over 256 blocks: some share one
		if err := s.Do(ctx, 0, write(key, key+1, 100)); err != nil {
			t.Fatal(err)
		}
	}

	if err := errors.Join(s.Crash(), s.Restart(ctx)); err != nil {
		t.Fatal(err)
	}

	for key := range uint64(600) {
		expect(t, s, key, key+1)
	}
}

func TestReads(t *testing.T) {
	s, _ := started(t, small())
	if err := s.Do(context.Background(), 3, &lab.Op{Op: workload.Op{Kind: workload.Read}}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Do(ctx, 3, &lab.Op{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if s.Describe() == "" || s.Sources() != nil {
		t.Error("it has no description, or has sources")
	}
}

func TestNotStarted(t *testing.T) {
	ctx := context.Background()
	s, err := New(small())
	if err != nil {
		t.Fatal(err)
	}

	if err := s.Start(ctx, &lab.Machine{}, nil); err == nil || !strings.Contains(err.Error(), "no volume named data") {
		t.Errorf("no volume: %v", err)
	}

	if err := s.Do(ctx, 0, write(1, 1, 1)); !errors.Is(err, errDown) {
		t.Errorf("got %v", err)
	}

	if err := errors.Join(s.Stop(ctx), s.Stop(ctx)); err != nil {
		t.Error(err)
	}

	bad := small()
	bad.Block = 1000
	if _, err := New(bad); err == nil {
		t.Error("a block of 1,000 bytes is accepted")
	}
}

func FuzzScan(f *testing.F) {
	b := make([]byte, 100)
	record{1, 2, 3}.put(b)
	f.Add(append(bytes.Repeat([]byte{1}, 7), b...))
	f.Add(b[:50])
	f.Fuzz(func(t *testing.T, text []byte) {
		last := int64(0)
		for _, p := range scan(text) {
			if p.at < last || p.end < p.at+headerBytes || p.end > int64(len(text)) {
				t.Fatalf("%+v in %d bytes after %d", p, len(text), last)
			}
			last = p.end
		}
	})
}
