//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	postgres "plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/process"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

const patience = 2 * time.Minute

const text = `
plimsoll: 1
volumes: {data: {type: gp3, size: 50GiB}}
engine: {postgres: {rows: 2500, shared_buffers: 16MiB, max_connections: 10}}
workload:
  arrivals: {poisson: 100/s}
  mix: {update: 100%}
  connections: 4
`

// bench is a server in plain folders.
type bench struct {
	*Server
	m       *lab.Machine
	printed atomic.Int64 // lines
}

// folder makes a folder that other users may enter.
func folder(t testing.TB, dir string) string {
	t.Helper()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// start starts a server in folders with the given names, or skips the test.
func start(t testing.TB, dir, text string, names ...string) *bench {
	t.Helper()
	sc, err := language.Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}

	b := &bench{m: &lab.Machine{Dirs: map[string]string{}, Scratch: filepath.Join(dir, "scratch"), Scenario: sc}}
	b.m.Log = func(string) { b.printed.Add(1) }

	for _, name := range append(names, "scratch") {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		b.m.Dirs[name] = at
	}

	if _, err := process.Unprivileged("postgres", "nobody"); err != nil {
		t.Skip("PostgreSQL refuses to run as root, and there is no other user: " + err.Error())
	}

	server, err := New(*scenario.ConfigOf[*postgres.Config](sc))
	if errors.Is(err, errMissing) {
		t.Skip(err)
	}

	if err != nil {
		t.Fatal(err)
	}

	b.Server = server.(*Server)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for range 2 { // a second call must do no harm
			if err := b.Stop(ctx); err != nil {
				t.Error(err)
			}
		}
	})

	if err := b.Start(ctx, b.m, nil); err != nil {
		t.Fatal(err)
	}

	return b
}

func (b *bench) do(t *testing.T, conn int, kind workload.Kind, key, seq uint64) {
	t.Helper()
	if err := b.Do(t.Context(), conn, &lab.Op{Op: workload.Op{Kind: kind, Key: key, Size: 97, Document: 97}, Seq: seq}); err != nil {
		t.Errorf("%v of %d: %v", kind, key, err)
	}
}

func (b *bench) reads(t *testing.T, key, want uint64, there bool) {
	t.Helper()
	seq, found, err := b.Read(t.Context(), key)
	if err != nil || seq != want || found != there {
		t.Errorf("row %d: write %d, found %v, %v; not write %d, %v", key, seq, found, err, want, there)
	}
}

// ask returns the only value of the last answer.
func (b *bench) ask(t *testing.T, query string) string {
	t.Helper()
	c, err := dial(t.Context(), b.socket, "test")

	// closed connections may not have ended yet
	for n := 0; err != nil && strings.Contains(err.Error(), "53300") && n < 100; n++ {
		time.Sleep(20 * time.Millisecond)
		c, err = dial(t.Context(), b.socket, "test")
	}

	if err != nil {
		t.Fatal(err)
	}

	defer c.Close(t.Context())
	got, err := c.Exec(t.Context(), query).ReadAll()
	if err != nil {
		t.Fatal(err)
	}

	return string(got[len(got)-1].Rows[0][0])
}

func TestKeepsAcknowledgedWrites(t *testing.T) {
	b := start(t, folder(t, t.TempDir()), text, "data", "wal")
	if !strings.HasPrefix(b.Describe(), "PostgreSQL 1") {
		t.Errorf("it describes itself as %q", b.Describe())
	}

	for _, key := range []uint64{0, 2499} {
		b.reads(t, key, 0, true)
	}

	b.reads(t, 2500, 0, false)
	b.do(t, 0, workload.Update, 7, 1001)
	b.do(t, 1, workload.Insert, 2500, 1002)
	b.do(t, 2, workload.Push, 8, 1003)
	b.do(t, 3, workload.Read, 7, 0)
	b.do(t, 3, workload.Scan, 0, 0)
	b.do(t, 0, workload.Update, 9, 1<<63+5)
	b.do(t, 1, workload.Update, 3000, 1004) // before its insert
	b.do(t, 1, workload.Insert, 3000, 1005)

	if err := b.Do(t.Context(), 4, &lab.Op{}); err == nil || !strings.Contains(err.Error(), "connection 4 of 4") {
		t.Errorf("a connection too many: %v", err)
	}

	for query, want := range map[string]string{
		// of the updates and pushes, except one before its insert and one whose insert failed
		"SELECT count(*) FROM pgbench_history":                                              "5",
		"SELECT DISTINCT pg_column_size(a) FROM pgbench_accounts a":                         "121",
		"SELECT DISTINCT pg_column_size(h) FROM pgbench_history h":                          "48",
		"SELECT count(*) FROM pgbench_accounts":                                             "2502",
		"SHOW checkpoint_timeout":                                                           "5min",
		"SHOW shared_buffers":                                                               "16MB",
		"SELECT count(*) FROM pg_class WHERE relname = 'pgbench_accounts_pkey'":             "1",
		"SELECT relallvisible > 0 FROM pg_class WHERE relname = 'pgbench_accounts'":         "t",
		"SELECT setting FROM pg_settings WHERE name = 'max_connections'":                    "13",
		"SELECT count(*) FROM pg_settings WHERE sourcefile IS NOT NULL AND pending_restart": "0",
	} {
		if got := b.ask(t, query); got != want {
			t.Errorf("%s: %s, not %s", query, got, want)
		}
	}

	segments, err := filepath.Glob(filepath.Join(b.m.Dirs["wal"], "pg_wal", "0*"))
	if err != nil || len(segments) == 0 {
		t.Errorf("there is no log on its volume: %v %v", segments, err)
	}

	b.crash(t)
	b.reads(t, 7, 1001, true)
	b.reads(t, 2500, 1002, true)
	b.reads(t, 8, 1003, true)
	b.reads(t, 9, 1<<63+5, true)
	b.reads(t, 3000, 1005, true)
	b.reads(t, 10, 0, true)
	b.do(t, 0, workload.Update, 10, 1006)
	b.reads(t, 10, 1006, true)

	if b.printed.Load() == 0 {
		t.Error("its output was not received")
	}
}

// crash cuts the power and restores it.
func (b *bench) crash(t *testing.T) {
	t.Helper()
	family := []int{b.proc.PID()}
	for _, l := range b.pool.Load().links {
		family = append(family, int(l.conn.PID()))
	}

	shared, err := memoryOf(b.proc)
	if err != nil || len(shared.segments) == 0 || len(shared.files) == 0 {
		t.Errorf("its shared memory: %v, %v", shared, err)
	}

	if err := b.Crash(); err != nil {
		t.Fatal(err)
	}

	for _, pid := range family {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("process %d lives: %s", pid, stat)
		}
	}

	for _, path := range shared.files {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s still exists", path)
		}
	}

	if err := b.Do(t.Context(), 0, &lab.Op{}); err == nil {
		t.Error("a dead server answers")
	}

	// A power loss may leave it like this.
	if err := os.WriteFile(filepath.Join(b.data, "postmaster.pid"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestCheckpoints(t *testing.T) {
	b := start(t, folder(t, t.TempDir()), text, "data")
	before, err := b.Cycles(t.Context())
	if err != nil || len(before) == 0 {
		t.Fatalf("the load's checkpoint: %v, %v", before, err)
	}

	b.do(t, 0, workload.Update, 1, 1)
	b.ask(t, "CHECKPOINT; SELECT 1")
	wait := time.NewTimer(patience)
	defer wait.Stop()

	for {
		all, err := b.Cycles(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		// wait until its line has come through the pipe
		if n := len(all); n > len(before) && !all[n-1].To.IsZero() {
			if c := all[n-1]; c.To.Before(c.From) || c.From.Before(all[n-2].To) || time.Since(c.To).Abs() > patience {
				t.Errorf("checkpoint from %v to %v, after the one to %v", c.From, c.To, all[n-2].To)
			}
			return
		}

		select {
		case <-wait.C:
			t.Fatal("the checkpoint was not seen")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestMoreConnectionsThanTheServerHas(t *testing.T) {
	b := start(t, folder(t, t.TempDir()), strings.NewReplacer("max_connections: 10", "max_connections: 2, history_row: 0B, row: 500B, checkpoint_timeout: 90500ms, "+
		"bgwriter_flush_after: 100000B, max_wal_size: 5GB, wal_writer_delay: 1500us, commit_delay: 1500us, wal_buffers: 1MiB, fillfactor: 70%",
		"connections: 4", "connections: 16").Replace(text), "data")
	var all sync.WaitGroup
	for conn := range 16 {
		all.Go(func() {
			for i := range 5 {
				b.do(t, conn, workload.Update, uint64(conn), uint64(i+1))
			}
		})
	}

	all.Wait()
	for conn := range 16 {
		b.reads(t, uint64(conn), 5, true)
	}

	if got := b.ask(t, "SELECT DISTINCT pg_column_size(a) FROM pgbench_accounts a"); got != "500" {
		t.Errorf("rows have %s bytes, not 500", got)
	}

	for name, want := range map[string]string{
		"checkpoint_timeout": "90s", "bgwriter_flush_after": "96kB", "max_wal_size": "4768MB", "wal_writer_delay": "2ms", "commit_delay": "1500", "wal_buffers": "1MB",
	} {
		if got := b.ask(t, "SHOW "+name); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}

	if got := b.ask(t, "SELECT reloptions FROM pg_class WHERE relname = 'pgbench_accounts'"); got != "{fillfactor=70}" {
		t.Errorf("the table's options are %s", got)
	}

	if got := b.ask(t, "SELECT count(*) FROM pg_class WHERE relname = 'pgbench_history'"); got != "0" {
		t.Error("a history was created without being asked for")
	}
}

func TestStartFails(t *testing.T) {
	bad := postgres.Defaults()
	bad.SharedBuffers = 1
	if _, err := New(bad); err == nil || !strings.Contains(err.Error(), "shared_buffers") {
		t.Errorf("no shared buffers: %v", err)
	}

	if _, err := process.Unprivileged("postgres", "nobody"); err != nil {
		t.Skip("root, and no other user: " + err.Error())
	}

	dir := folder(t, t.TempDir())
	for name, script := range map[string]string{
		"postgres": "echo 'postgres (PostgreSQL) 99.1'",
		"initdb":   "echo no room on the volume >&2; exit 1",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	t.Setenv(EnvBin, dir)
	cfg := postgres.Defaults()
	server, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	if got := server.Describe(); got != "PostgreSQL 99.1" {
		t.Errorf("version: %s", got)
	}

	sc, err := language.Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}

	m := &lab.Machine{Dirs: map[string]string{}, Scratch: filepath.Join(dir, strings.Repeat("long", 30)), Scenario: sc}
	if err := server.Start(t.Context(), m, nil); err == nil || !strings.Contains(err.Error(), "there is no volume") {
		t.Errorf("no volume: %v", err)
	}

	m.Dirs["data"] = filepath.Join(dir, "data")
	if err := os.Mkdir(m.Dirs["data"], 0o755); err != nil {
		t.Fatal(err)
	}

	if err := server.Start(t.Context(), m, nil); err == nil || !strings.Contains(err.Error(), "no room on the volume") {
		t.Errorf("no room: %v", err)
	}

	short := server.(*Server).short
	if short == "" {
		t.Error("the socket's path is longer than the kernel takes")
	}

	if err := server.Stop(t.Context()); err != nil {
		t.Errorf("stopping after a failed start: %v", err)
	}

	if _, err := os.Stat(short); err == nil {
		t.Errorf("%s still exists", short)
	}

	if err := server.Do(t.Context(), 0, &lab.Op{}); !errors.Is(err, errNotRunning) {
		t.Errorf("asking it: %v", err)
	}

	if err := server.Restart(t.Context()); !errors.Is(err, errNotRunning) {
		t.Errorf("starting it again: %v", err)
	}

	if err := server.Crash(); err != nil {
		t.Errorf("crashing a server that does not run: %v", err)
	}
}
