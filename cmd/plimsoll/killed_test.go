//go:build linux

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/base/safefile"
	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/mount"
)

// kills is how often a command is killed, more often with CI_FULL.
func kills() int {
	if os.Getenv("CI_FULL") != "" {
		return 50
	}
	return 3
}

// chances returns random times up to most, from a seed that is logged.
func chances(t *testing.T, most time.Duration) func() time.Duration {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	return func() time.Duration { return time.Duration(r.Int64N(int64(most))) }
}

// killed runs plimsoll, kills it after a while, and returns what it wrote.
func killed(t *testing.T, after time.Duration, args ...string) string {
	t.Helper()
	cmd := exec.Command("plimsoll", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // a detached child may hold the output

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	_ = cmd.Wait()

	if text := out.String(); strings.Contains(text, "panic:") || strings.Contains(text, "goroutine ") {
		t.Errorf("%v: %s", args, text)
	}

	return out.String()
}

// finished runs plimsoll to its end and returns its exit code and what it wrote.
func finished(t *testing.T, args ...string) (int, string) {
	t.Helper()
	out, err := exec.Command("plimsoll", args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code := 0
	if exit != nil {
		code = exit.ExitCode()
	}
	return code, string(out)
}

// temporaries returns files below a folder that no command should leave behind.
func temporaries(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if name := e.Name(); safefile.IsLeftover(name) || strings.HasSuffix(name, ".tmp") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// record and watch are killed at any time. Earlier samples can be read, other files stay, and the
// next run continues and cleans up.
func TestKilledWhileRecording(t *testing.T) {
	page := httptest.NewServer(metricsPage())
	defer page.Close()

	url := page.URL + "/metrics"
	for name, args := range map[string][]string{
		"record": {"record", url, "--period", "100ms", "--out"},
		"watch":  {"watch", url, "--every", "1s", "--web.listen-address", "127.0.0.1:0", "--out"},
	} {
		t.Run(name, func(t *testing.T) {
			after, parent := chances(t, 2*time.Second), t.TempDir()
			dir, beside := filepath.Join(parent, "recording"), filepath.Join(parent, "mine")
			if err := os.WriteFile(beside, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}

			before := 0
			for range kills() {
				out := killed(t, after(), append(slices.Clone(args), dir)...)
				if _, err := os.Stat(filepath.Join(dir, "recording.json")); err != nil {
					continue // killed before the first one
				}

				code, text := finished(t, "diagnose", dir)
				if code != exitFine && !(code == exitFailure && before == 0) {
					t.Errorf("diagnosed with %d: %s\nthe killed one: %s", code, text, out)
				}

				if code == exitFine {
					before++
				}

				if strings.Contains(text, "damaged") {
					t.Errorf("half-written: %s", text)
				}
			}

			// A complete run leaves no temporary files, neither its own nor those of the killed runs.
			if code, text := finished(t, "record", url, "--period", "100ms", "--for", "1s", "--out", dir); code != exitFine {
				t.Fatalf("recorded again: %d: %s", code, text)
			}

			if left := temporaries(t, parent); len(left) > 0 {
				t.Errorf("left over: %q", left)
			}

			if text, err := os.ReadFile(beside); err != nil || string(text) != "mine" {
				t.Errorf("the file beside it is %q, %v", text, err)
			}
		})
	}
}

// labState waits until no lab is being created or removed, and returns what is mounted on a folder,
// or nil.
func labState(t *testing.T, dir string) *mount.State {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		states, err := mount.States()
		for _, s := range states {
			if s.Alive() && s.Socket != "" && len(s.Volumes) > 0 && s.Volumes[0].Dir == dir {
				return s
			}
		}
		if err == nil && !daemonRuns(t) {
			return nil
		}
	}
	t.Fatal("a lab is neither mounted nor gone")
	return nil
}

// daemonRuns reports whether a daemon of this test's program is running, other than a killed one that
// waits for its own device.
func daemonRuns(t *testing.T) bool {
	t.Helper()
	program, err := exec.LookPath("plimsoll")
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}

	if err != nil {
		t.Fatal(err)
	}

	processes, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}

	for _, exe := range processes {
		of, err := os.Readlink(exe)
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(exe), "cmdline")) // it may have ended
		if err == nil && of == program && strings.HasSuffix(string(args), "\x00lab\x00serve\x00") {
			return true
		}
	}

	return false
}

const labScenario = "to be killed"

// lab mount, its daemon and lab umount are killed at any time. Whatever is left is mounted and
// works, or is removed completely by the next command.
func TestKilledLab(t *testing.T) {
	if err := blockdev.Available(); err != nil {
		t.Skip(err)
	}

	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		t.Skip("mkfs.ext4 is not installed")
	}

	parent, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	dir, file := filepath.Join(parent, "volume"), filepath.Join(parent, "one.yaml")
	text := "plimsoll: 1\nname: " + labScenario + "\nvolumes: {data: {type: gp3, size: 1GiB}}\nengine: {mongodb: {cache: 1GB}}\nworkload: {preset: telemetry, keys: {count: 1000}}\n"
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}

	defer unmountBelow(t, parent)
	start := []string{"lab", "mount", file, dir, "--filesystem", "ext4"}

	after := chances(t, 1500*time.Millisecond)
	for n := range kills() {
		switch n % 3 {
		case 0: // who asks
			killed(t, after(), start...)
		case 1: // who serves
			if code, text := finished(t, start...); code != exitFine {
				t.Fatalf("not mounted: %d: %s", code, text)
			}
			time.Sleep(after() / 10)
			if s := labState(t, dir); s == nil || syscall.Kill(s.PID, syscall.SIGKILL) != nil {
				t.Fatal("no daemon")
			}
		case 2: // who unmounts
			if code, text := finished(t, start...); code != exitFine {
				t.Fatalf("not mounted: %d: %s", code, text)
			}
			killed(t, after()/5, "lab", "umount", dir)
		}

		if s := labState(t, dir); s != nil {
			if n%3 != 2 { // otherwise it may still be unmounted
				if err := os.WriteFile(filepath.Join(dir, "file"), []byte("works"), 0o600); err != nil {
					t.Errorf("mounted, and does not work: %v", err)
				}
			}
			if code, text := finished(t, "lab", "umount", dir); code != exitFine && labState(t, dir) != nil {
				t.Errorf("unmounted with %d: %s", code, text)
			}
		}

		if code, text := finished(t, "lab", "status", dir); strings.Contains(text, "cannot be removed") {
			t.Errorf("status %d: %s", code, text)
		}

		if err := mount.Free(dir); err != nil {
			t.Errorf("round %d: %v", n, err)
		}

		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder is %v, %v", info, err)
		}

		states, err := mount.States()
		for _, s := range states {
			if s.About == labScenario {
				t.Errorf("round %d: a state is left: %+v, %v", n, s, err)
			}
		}

		if t.Failed() {
			return
		}
	}
}
