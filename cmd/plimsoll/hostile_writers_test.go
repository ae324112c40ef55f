//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/check/hostile"
)

// writers are the commands that write files. OUT is the target, IN a page of metrics.
var writers = map[string][]string{
	"export to CSV":         {"export", "IN", "--force", "-o", "csv", "--out", "OUT"},
	"export to OpenMetrics": {"export", "IN", "--force", "-o", "openmetrics", "--out", "OUT"},
	"export to Parquet":     {"export", "IN", "--force", "-o", "parquet", "--out", "OUT"},
	"record":                {"record", "IN", "--out", "OUT"},
	"simulate":              {"simulate", "SCENARIO", "--set", "run.duration=20s", "--out", "OUT"},
	"catalog import":        {"catalog", "import", "PRICES", "--out", "OUT"},
}

// A scene is a folder with the inputs of the writers.
type scene struct {
	t   *testing.T
	dir string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	dir := t.TempDir()
	var page strings.Builder
	page.WriteString("# TYPE pg_stat_database_xact_commit counter\n")
	for k := range 20_000 {
		fmt.Fprintf(&page, "pg_stat_database_xact_commit{datname=\"shop\"} %d %d\n", k*100+k%7, 1_790_000_000_000+k*1000)
	}

	scenario, err := os.ReadFile("../../examples/scenarios/etcd.yaml")
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "page.prom"), []byte(page.String()), 0o600),
		os.WriteFile(filepath.Join(dir, "scenario.yaml"), scenario, 0o600),
		os.WriteFile(filepath.Join(dir, "prices.csv"), []byte("instance_type,usd_per_hour,region\nm6i.xlarge,0.23,eu-central-1\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}

	return &scene{t, dir}
}

// args are a writer's arguments for a target.
func (s *scene) args(writer, out string) []string {
	args := slices.Clone(writers[writer])
	for i, a := range args {
		switch a {
		case "OUT":
			args[i] = out
		case "IN":
			args[i] = filepath.Join(s.dir, "page.prom")
		case "SCENARIO":
			args[i] = filepath.Join(s.dir, "scenario.yaml")
		case "PRICES":
			args[i] = filepath.Join(s.dir, "prices.csv")
		}
	}
	return args
}

// whole reports whether a writer's output is complete: the same file as without interruption, or a
// recording that can be read.
func (s *scene) whole(writer, out string, want []byte) (bool, string) {
	if info, err := os.Stat(out); err != nil || info.IsDir() {
		o := tried(s.t, nil, nil, "metrics", out)
		return o.code == exitFine && o.wrong() == "", o.text
	}
	got, err := os.ReadFile(out)
	// A catalogue contains the time of its import.
	same := bytes.Equal(got, want) || writer == "catalog import" && len(got) == len(want)
	return same, fmt.Sprintf("%d bytes instead of %d, %v", len(got), len(want), err)
}

// eachWriter runs a test for each writer, with the output and the duration of an undisturbed run.
func eachWriter(t *testing.T, test func(t *testing.T, s *scene, writer string, want []byte, took time.Duration)) {
	for writer := range writers {
		t.Run(writer, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			out := filepath.Join(s.dir, "undisturbed")
			o := tried(t, nil, nil, s.args(writer, out)...)
			if o.code != exitFine {
				t.Fatalf("undisturbed, it ends with %d: %s", o.code, o.text)
			}
			want, _ := os.ReadFile(out) // a recording is a folder
			test(t, s, writer, want, o.took)
		})
	}
}

// TestKilledWriters kills each writer at a random time. The target is then absent, or complete; the
// next run succeeds, and nothing else is left.
func TestKilledWriters(t *testing.T) {
	eachWriter(t, func(t *testing.T, s *scene, writer string, want []byte, took time.Duration) {
		r, there := hostile.Rand(t), 0
		parent := filepath.Join(s.dir, "killed")
		for n := range hostile.Tries(2, hostile.ProcessTries) {
			if err := errors.Join(os.RemoveAll(parent), os.Mkdir(parent, 0o700)); err != nil {
				t.Fatal(err)
			}

			out := filepath.Join(parent, "out")
			text := killed(t, time.Duration(r.Int64N(int64(took))), s.args(writer, out)...)
			info, err := os.Stat(out)
			if err == nil && !info.IsDir() {
				there++
				if ok, how := s.whole(writer, out, want); !ok {
					t.Errorf("kill %d left half a file: %s: %s", n, how, text)
				}
			}

			o := tried(t, nil, nil, s.args(writer, out)...)
			if strings.Contains(o.text, "a simulation cannot continue it") {
				continue // as the message says, the user deletes it
			}
			if o.code != exitFine || o.wrong() != "" {
				t.Errorf("after kill %d, the next run ends with %d (%s): %s", n, o.code, o.wrong(), o.text)
			}
			if left := temporaries(t, parent); len(left) > 0 {
				t.Errorf("kill %d leaves %q after the next run", n, left)
			}
		}
		t.Logf("of the kills %d came after the end", there)
	})
}

// TestFullDisks gives each writer less space than it needs. It fails with a message and leaves no
// half-written file, and a file to be replaced stays unchanged.
func TestFullDisks(t *testing.T) {
	eachWriter(t, func(t *testing.T, s *scene, writer string, want []byte, _ time.Duration) {
		r := hostile.Rand(t)
		for range hostile.Tries(3, hostile.ProcessTries) {
			parent := filepath.Join(s.dir, "full")
			if err := os.Mkdir(parent, 0o700); err != nil {
				t.Fatal(err)
			}

			// Root gets a disk that is full. Other users get a limit on the size of a file, which ends a
			// write in the same way.
			blocks := 1 + r.IntN(1<<r.IntN(8))
			limit := fmt.Sprintf("ulimit -f %d; exec \"$0\" \"$@\"", blocks)
			full := unix.Mount("tmpfs", parent, "tmpfs", 0, fmt.Sprintf("size=%dk", 4*blocks)) == nil
			if full {
				limit = `exec "$0" "$@"`
			}

			out := filepath.Join(parent, "out")
			o := triedAs(t, nil, nil, "sh", append([]string{"-c", limit, "plimsoll"}, s.args(writer, out)...)...)
			if why := o.wrong(); why != "" {
				t.Errorf("with %d blocks (full disk: %v): %s: %d: %s", blocks, full, why, o.code, o.text)
			}

			// There is one error, although every write fails, with a hint.
			if lines := strings.Count(o.errors, "\n"); o.code != exitFine && lines > 2 {
				t.Errorf("with %d blocks (full disk: %v): %d lines: %s", blocks, full, lines, o.errors)
			}

			if info, err := os.Stat(out); err == nil && !info.IsDir() {
				if ok, how := s.whole(writer, out, want); !ok {
					t.Errorf("with %d blocks it left half a file: %s: %s", blocks, how, o.text)
				}
			} else if o.code == exitFine && err != nil {
				t.Errorf("with %d blocks it succeeded without writing: %v", blocks, err)
			}

			if full {
				if err := unix.Unmount(parent, unix.MNT_DETACH); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.RemoveAll(parent); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// oddTargets are targets other than a new file: how to make each, and a path below its folder.
var oddTargets = map[string]func(dir string) (string, error){
	"a folder with a file": func(dir string) (string, error) {
		return dir, os.WriteFile(filepath.Join(dir, "mine"), []byte("mine"), 0o600)
	},
	"a link to a file": func(dir string) (string, error) {
		mine, link := filepath.Join(dir, "mine"), filepath.Join(dir, "link")
		return link, errors.Join(os.WriteFile(mine, []byte("mine"), 0o600), os.Symlink(mine, link))
	},
	"a link to nothing": func(dir string) (string, error) {
		link := filepath.Join(dir, "link")
		return link, os.Symlink(filepath.Join(dir, "nothing"), link)
	},
	"a pipe": func(dir string) (string, error) {
		pipe := filepath.Join(dir, "pipe")
		return pipe, syscall.Mkfifo(pipe, 0o600)
	},
	"a file": func(dir string) (string, error) {
		file := filepath.Join(dir, "file")
		return file, os.WriteFile(file, []byte("old"), 0o600)
	},
	"below a file": func(dir string) (string, error) {
		mine := filepath.Join(dir, "mine")
		return filepath.Join(mine, "out"), os.WriteFile(mine, []byte("mine"), 0o600)
	},
	"a long name":      func(dir string) (string, error) { return filepath.Join(dir, strings.Repeat("n", 300)), nil },
	"a name with \\n":  func(dir string) (string, error) { return filepath.Join(dir, "a\nb"), nil },
	"not UTF-8":        func(dir string) (string, error) { return filepath.Join(dir, "a\xff\xfeb"), nil },
	"/dev/full":        func(string) (string, error) { return "/dev/full", nil },
	"/dev/null":        func(string) (string, error) { return "/dev/null", nil },
	"/proc":            func(string) (string, error) { return "/proc/plimsoll", nil },
	"the root":         func(string) (string, error) { return "/", nil },
	"an absent folder": func(dir string) (string, error) { return filepath.Join(dir, "no", "such", "out"), nil },
	"empty":            func(string) (string, error) { return "", nil },
	"with dots": func(dir string) (string, error) {
		// Up to the root and back, so that nothing outside the test's folder is written.
		return filepath.Join(dir, "x") + strings.Repeat("/..", 40) + filepath.Join(dir, "no", "such", "out"), nil
	},
}

// TestOddTargets runs each writer on each odd target, or on a third of them in an ordinary run. The
// user's existing files stay.
func TestOddTargets(t *testing.T) {
	eachWriter(t, func(t *testing.T, s *scene, writer string, _ []byte, _ time.Duration) {
		r := hostile.Rand(t)
		for name, create := range oddTargets {
			if !hostile.Full() && r.IntN(3) > 0 {
				continue // a third of them in an ordinary run
			}

			dir := filepath.Join(s.dir, "odd")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}

			target, err := create(dir)
			if err != nil {
				t.Fatal(err)
			}

			o := tried(t, nil, nil, s.args(writer, target)...)
			if why := o.wrong(); why != "" {
				t.Errorf("%s: %s: %d: %s", name, why, o.code, o.text)
			}
			if mine, err := os.ReadFile(filepath.Join(dir, "mine")); err == nil && string(mine) != "mine" {
				t.Errorf("%s: the user's file became %.50q", name, mine)
			}
			if left := temporaries(t, dir); len(left) > 0 {
				t.Errorf("%s: it leaves %q", name, left)
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestTwoWriters runs each writer twice at the same time on one target. In the end the target is
// complete, and a run that did not write it says so.
func TestTwoWriters(t *testing.T) {
	eachWriter(t, func(t *testing.T, s *scene, writer string, want []byte, took time.Duration) {
		r := hostile.Rand(t)
		for n := range hostile.Tries(1, hostile.ProcessTries) {
			out := filepath.Join(s.dir, fmt.Sprint("both", n))
			var both [2]*outcome
			var wait sync.WaitGroup
			for i := range both {
				begin := time.Duration(r.Int64N(int64(took)))
				wait.Go(func() {
					time.Sleep(begin) // the timing is random on purpose
					both[i] = tried(t, nil, nil, s.args(writer, out)...)
				})
			}

			wait.Wait()
			for _, o := range both {
				if why := o.wrong(); why != "" {
					t.Errorf("round %d: %s: %d: %s", n, why, o.code, o.text)
				}
			}
			if ok, how := s.whole(writer, out, want); !ok {
				t.Errorf("round %d: %s\none: %s\nother: %s", n, how, both[0].text, both[1].text)
			}
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestBlockedPipes stops commands whose output no process reads, at a random time.
func TestBlockedPipes(t *testing.T) {
	s, r := newScene(t), hostile.Rand(t)
	page := filepath.Join(s.dir, "page.prom")
	commands := [][]string{
		{"export", page, "-o", "csv"}, {"diagnose", page, "-o", "json"}, {"query", page, "pg_stat_database_xact_commit", "-o", "csv"},
		{"simulate", filepath.Join(s.dir, "scenario.yaml")}, {"record", "host", "--period", "100ms", "--out", filepath.Join(s.dir, "blocked")},
	}

	for n := range hostile.Tries(len(commands), hostile.ProcessTries) {
		blocked(t, commands[n%len(commands)], r)
	}
}

func blocked(t *testing.T, args []string, r *rand.Rand) {
	t.Helper()
	read, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()

	var errs bytes.Buffer
	cmd := exec.Command("plimsoll", args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = w, &errs, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()

	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // whatever its exit code is
		close(ended)
	}()
	time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond) // the timing is random on purpose
	_ = cmd.Process.Signal(syscall.SIGTERM)                    // it may have ended

	select {
	case <-ended:
	case <-time.After(hostile.Within):
		_ = cmd.Process.Kill()
		t.Errorf("%v does not end on SIGTERM", args)
	}
	if text := errs.String(); crashed.MatchString(text) || hostile.Internal(text) != "" {
		t.Errorf("%v: %s", args, text)
	}
}

// TestClockJumps reads logs whose clock jumps, by seconds or by centuries, in either direction.
func TestClockJumps(t *testing.T) {
	r, dir := hostile.Rand(t), t.TempDir()
	file := filepath.Join(dir, "jumps.prom")
	for n := range hostile.Tries(4, hostile.ProcessTries) {
		var page strings.Builder
		page.WriteString("# TYPE etcd_disk_wal_fsync_duration_seconds_count counter\n")
		at := int64(1_790_000_000_000)
		for k := range 3000 {
			if at += 1000; r.IntN(300) == 0 {
				at += (r.Int64N(2<<r.IntN(45)) - r.Int64N(2<<r.IntN(45)))
			}
			fmt.Fprintf(&page, "etcd_disk_wal_fsync_duration_seconds_count %d %d\n", k, at)
		}

		if err := os.WriteFile(file, []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}

		for _, args := range [][]string{{"diagnose", file}, {"record", file, "--out", filepath.Join(dir, fmt.Sprint(n))}, {"query", file, "rate(etcd_disk_wal_fsync_duration_seconds_count[1m])"}} {
			if o := tried(t, nil, nil, args...); o.wrong() != "" {
				t.Errorf("%s: %s: %d in %s with %d MB: %.2000s", args[0], o.wrong(), o.code, o.took, o.peak>>20, o.text)
			}
		}
	}
}

// TestHostileClients gives mcp a conversation that is damaged in the middle.
func TestHostileClients(t *testing.T) {
	r := hostile.Rand(t)
	talk := []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"query","arguments":{"sources":["examples/postgres-checkpoint/iostat.log"],"promql":"max(node_disk_writes_completed_total)"}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"catalog","arguments":{"name":"gp3"}}}
{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"simulate","arguments":{"scenario":"version: 7"}}}
`)

	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}

	for range hostile.Tries(5, hostile.ProcessTries) {
		input := append(hostile.Mutate(r, talk, nil), "\n{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"ping\"}\n"...)
		o := tried(t, nil, io.MultiReader(bytes.NewReader(input)), "mcp", "examples="+examples)
		if why := o.wrong(); why != "" || !strings.Contains(o.text, `"id":99`) {
			t.Errorf("%s, or the last ping has no answer: %d in %s with %d MB: %.1000s\nafter %q", why, o.code, o.took, o.peak>>20, o.text, input)
		}
	}
}
