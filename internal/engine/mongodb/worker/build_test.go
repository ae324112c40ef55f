//go:build linux

package worker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	wiredtigermodel "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
)

// patience limits a test's waits. No test asserts how long something took.
const patience = 60 * time.Second

// built is the worker that the tests use. It is built once.
var built struct {
	once sync.Once
	dir  string
	skip string // why there is no worker
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		if err := os.RemoveAll(built.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// build builds the worker and makes the package find it.
func build(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		gcc, err := exec.LookPath("gcc")
		if err != nil {
			built.skip = "no gcc to build the worker with"
			return
		}

		if built.dir, built.err = os.MkdirTemp("", "plimsoll-worker"); built.err != nil {
			return
		}

		// If the tests run as root, another user runs the worker.
		if built.err = os.Chmod(built.dir, 0o755); built.err != nil {
			return
		}

		sources, err := filepath.Glob("c/*.c")
		if err != nil || len(sources) == 0 {
			built.err = fmt.Errorf("no sources of the worker: %w", err)
			return
		}

		args := []string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(built.dir, workerName)}
		out, err := exec.Command(gcc, append(append(args, sources...), "-lwiredtiger", "-lpthread")...).CombinedOutput()
		switch text := string(out); {
		case err == nil:
		case strings.Contains(text, "wiredtiger.h: No such file"), strings.Contains(text, "cannot find -lwiredtiger"):
			built.skip = "no libwiredtiger-dev to build the worker with"
		case strings.Contains(text, "stdlib.h: No such file"), strings.Contains(text, "stdio.h: No such file"):
			built.skip = "no libc6-dev to build the worker with"
		default:
			built.err = fmt.Errorf("%w: %s", err, text)
		}
	})

	if built.err != nil {
		t.Fatal(built.err)
	}

	if built.skip != "" {
		t.Skip(built.skip)
	}

	path := filepath.Join(built.dir, workerName)
	t.Setenv(variable, path)
	return path
}

// folder makes a folder that another user can reach.
func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// machine is a scenario on plain folders.
func machine(t testing.TB, text string) *lab.Machine {
	t.Helper()
	sc, err := language.Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &lab.Machine{Dirs: map[string]string{}, Scratch: folder(t), Scenario: sc, Log: func(line string) { t.Log(line) }}
	for _, v := range sc.Volumes {
		m.Dirs[v.Name] = folder(t)
	}
	return m
}

// started returns a running server.
func started(t testing.TB, m *lab.Machine, opt options) *server {
	t.Helper()
	build(t)
	s, err := newServer(*scenario.ConfigOf[*wiredtigermodel.Config](m.Scenario), opt)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := s.Crash(); err != nil {
			t.Error(err)
		}
	})

	if err := s.Start(t.Context(), m, nil); err != nil {
		t.Fatal(err)
	}

	return s
}

// yaml returns a scenario with a mix, documents and engine settings. Its volumes have no limits
// here.
func yaml(workload, engine string, volumes ...string) string {
	var b strings.Builder
	b.WriteString("plimsoll: 1\nvolumes:\n")
	for _, v := range append([]string{"data"}, volumes...) {
		fmt.Fprintf(&b, "  %s: {type: gp3, size: 100GiB}\n", v)
	}
	fmt.Fprintf(&b, "host: {memory: 8GiB, cores: 2}\nengine:\n  mongodb: {cache: 100MiB, %s}\n", engine)
	fmt.Fprintf(&b, "workload: {connections: 8, %s}\n", workload)
	return b.String()
}
