//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/check/golden"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/engine/mongodb/mongotest"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

// The test binary also acts as mongod.
func TestMain(m *testing.M) {
	if os.Getenv("PLIMSOLL_TEST_MONGOD") != "" {
		os.Exit(mongotest.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// standIn makes a program named mongod, with its own environment, that the engine's user may run.
func standIn(t *testing.T, env ...string) (path, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}

	self, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}

	defer self.Close()
	binary := filepath.Join(dir, "stand-in")
	f, err := os.OpenFile(binary, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := io.Copy(f, self); err != nil {
		t.Fatal(err)
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	path = filepath.Join(dir, "mongod")
	script := "#!/bin/sh\nPLIMSOLL_TEST_MONGOD=1 " + strings.Join(env, " ") + " exec " + binary + " \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}

	return path, dir
}

// machine has volumes in a folder.
func machine(t *testing.T, dir, text string, volumes ...string) *lab.Machine {
	t.Helper()
	m := &lab.Machine{Dirs: map[string]string{}, Scratch: filepath.Join(dir, "scratch"), Scenario: parse(t, text)}
	for _, name := range append(volumes, "scratch") {
		at := filepath.Join(dir, name)
		if err := os.Mkdir(at, 0o777); err != nil {
			t.Fatal(err)
		}
		if name != "scratch" {
			m.Dirs[name] = at
		}
	}
	return m
}

// A mongod is started on the volumes, made a replica set, loaded, killed, restarted and stopped.
func TestMongod(t *testing.T) {
	path, dir := standIn(t)
	m := machine(t, dir, strings.Replace(text, "volumes: {", "volumes: {journal: {type: gp3, size: 10GiB}, ", 1), "data", "journal")
	s, err := New(path, *scenario.ConfigOf[*wiredtiger.Config](m.Scenario))
	if err != nil {
		t.Fatal(err)
	}

	if s.Describe() != "MongoDB "+mongotest.Version {
		t.Errorf("it describes itself as %q", s.Describe())
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})

	if err := s.Start(ctx, m, nil); err != nil {
		t.Fatal(err)
	}

	if at, err := os.Readlink(filepath.Join(m.Dirs["data"], "mongodb", "journal")); err != nil || at != filepath.Join(m.Dirs["journal"], "journal") {
		t.Errorf("the journal is at %q, %v", at, err)
	}

	if _, err := os.Stat(filepath.Join(m.Dirs["data"], "mongodb", "mongod.lock")); err != nil {
		t.Error("mongod did not run on the data's volume:", err)
	}

	do(t, s, workload.Update, 3, 21, 300, 300)
	reads(t, s, 3, 21, true)
	reads(t, s, 1499, 0, true)
	pid := s.proc.PID()

	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
		t.Error("it is still running")
	}

	if err := s.Do(ctx, 0, &lab.Op{}); !errors.Is(err, errNotRunning) {
		t.Errorf("an operation on a dead server: %v", err)
	}

	// The stand-in stores nothing, so it must be made a replica set again.
	if err := os.Remove(s.file); err != nil {
		t.Fatal(err)
	}

	s.cfg.Oplog = new(bool)
	if err := os.WriteFile(s.file, []byte(conf(&s.cfg, s.at)), 0o644); err != nil {
		t.Fatal(err)
	}

	if err := s.Restart(ctx); err != nil {
		t.Fatal(err)
	}

	reads(t, s, 3, 0, false)
}

func TestStartFails(t *testing.T) {
	cfg := wiredtiger.Defaults()
	if _, err := New("/nowhere/mongod", cfg); err == nil || !strings.Contains(err.Error(), "the requested mongod") {
		t.Errorf("a missing binary: %v", err)
	}

	if _, err := New("true", cfg); err == nil || !strings.Contains(err.Error(), "this is not mongod") {
		t.Errorf("another program: %v", err)
	}

	path, dir := standIn(t, mongotest.EnvFail+"='Failed to set up listener: Address already in use'")
	no := cfg
	no.Journal = new(bool)

	if _, err := New(path, no); err == nil || !strings.Contains(err.Error(), "has not supported this since 6.1") {
		t.Errorf("no journal: %v", err)
	}

	s, err := New(path, cfg)
	if err != nil {
		t.Fatal(err)
	}

	m := machine(t, dir, text)
	if err := s.Start(t.Context(), m, nil); err == nil || !strings.Contains(err.Error(), "there is no volume") {
		t.Errorf("no volume: %v", err)
	}

	m.Dirs["data"] = filepath.Join(dir, "data")
	if err := os.Mkdir(m.Dirs["data"], 0o777); err != nil {
		t.Fatal(err)
	}

	if err := s.Start(t.Context(), m, nil); err == nil || !strings.Contains(err.Error(), "Address already in use") {
		t.Errorf("a server that exits immediately: %v", err)
	}

	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stopping after a failed start: %v", err)
	}

	if err := s.Restart(t.Context()); !errors.Is(err, errNotRunning) {
		t.Errorf("restarting after a stop: %v", err)
	}
}

func TestConf(t *testing.T) {
	cfg := wiredtiger.Defaults()
	golden.Compare(t, "defaults.conf", conf(&cfg, place{data: "/data/mongodb", port: 20001}))
	cfg.Cache, cfg.Compression, cfg.Oplog = 1536*units.MiB, 0.5, new(bool)
	cfg.Checkpoint, cfg.JournalInterval = units.Duration(90500*time.Millisecond), units.Duration(time.Second)
	cfg.EvictionDirtyTarget, cfg.EvictionUpdatesTrigger, cfg.EvictionThreadsMax, cfg.IOCapacity = 0.02, 0.1, 8, 40_000_000
	golden.Compare(t, "otherwise.conf", conf(&cfg, place{data: `/it "is" here`, journal: "/journal", port: 20002}))
	cfg.Compressor = new(bool)
	if text := conf(&cfg, place{}); !strings.Contains(text, "blockCompressor: none") {
		t.Errorf("without a compressor:\n%s", text)
	}
}

func TestCannot(t *testing.T) {
	cfg := wiredtiger.Defaults()
	if said, err := cannot(&cfg, "8.2.1"); said != nil || err != nil {
		t.Errorf("defaults: %q, %v", said, err)
	}
	cfg.Cache, cfg.LeafPage = 64*units.MiB, 4*units.KiB
	if said, err := cannot(&cfg, "8.2.1"); len(said) != 2 || err != nil || !strings.Contains(said[0], "at least 256MiB") {
		t.Errorf("%q, %v", said, err)
	}
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{
		"db version v8.0.4\nBuild Info: {}": "8.0.4", "db version v3.6.3\ngit version: x": "3.6.3", "db version v8.0.0-rc18\n": "8.0.0-rc18", "bash 5.2": "", "": "",
	} {
		if got, err := parseVersion(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is version %q, %v", text, got, err)
		}
	}
}
