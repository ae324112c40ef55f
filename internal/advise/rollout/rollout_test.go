//go:build linux

package rollout

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A failed start stops the rollout; resume and undo both work afterwards.
func TestStopsAtTheFirstFailure(t *testing.T) {
	for name, act := range map[string]func(*Rollout) error{"resume": goOn, "undo": goBack} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, quickDir(t))
			w.fails = 1
			_, err := w.attempt(0, goOn)

			var stopped *StepError
			if !errors.As(err, &stopped) || stopped.Step != "m1: start" || stopped.Stage != "action" || !strings.Contains(err.Error(), "(the engine may be stopped)") {
				t.Fatalf("it ended with %v", err)
			}

			if w.running {
				t.Error("the engine runs")
			}

			if _, err := w.attempt(0, act); err != nil {
				t.Fatal(err)
			}

			w.wholly()
		})
	}
}

// If a precondition fails after the engine was stopped, the error says that it is stopped.
func TestErrorIncludesStoppedEngine(t *testing.T) {
	w := newWorld(t, quickDir(t))
	_, err := w.attempt(0, func(r *Rollout) error {
		at := r.opt.At
		r.opt.At = func(point string) {
			at(point)
			if point == "done m1: stop" {
				if err := os.Mkdir(filepath.Join(w.dir, "mount", "the-log"), 0o700); err != nil {
					t.Error(err)
				}
			}
		}
		return r.Run(t.Context())
	})
	if err == nil || !strings.Contains(err.Error(), `stopped at "m1: copy", precondition failed (the engine is stopped)`) {
		t.Errorf("it says %v", err)
	}

	if _, err := w.attempt(0, goBack); err != nil || !w.running {
		t.Errorf("back: %v, running is %v", err, w.running)
	}
}

// If the new volume is not mounted, an undo removes nothing: the old log may be the only one left.
func TestUndoWithoutTheNewVolume(t *testing.T) {
	w := newWorld(t, quickDir(t))
	if _, err := w.attempt(0, func(r *Rollout) error {
		at := r.opt.At
		r.opt.At = func(point string) {
			if at(point); point == "done m1: swap" {
				panic(killed{point})
			}
		}
		return r.Run(t.Context())
	}); err != nil {
		t.Fatal(err)
	}

	mount, away := filepath.Join(w.dir, "mount"), filepath.Join(w.dir, "away")
	if err := errors.Join(os.Rename(mount, away), os.Mkdir(mount, 0o700)); err != nil {
		t.Fatal(err)
	}

	_, err := w.attempt(0, goBack)
	if text, errKept := os.ReadFile(filepath.Join(w.dir, "data", worldLog+keptSuffix, worldFile)); errKept != nil || string(text) != string(w.acked) {
		t.Fatalf("the old log has %q, %v", text, errKept)
	}

	if err == nil || !strings.Contains(err.Error(), "nothing was removed") {
		t.Errorf("it says %v", err)
	}

	if err := errors.Join(os.Remove(mount), os.Rename(away, mount)); err != nil {
		t.Fatal(err)
	}

	if _, err := w.attempt(0, goBack); err != nil {
		t.Fatal(err)
	}

	w.wholly()
}

// A command that takes too long is killed, and the error includes the reason.
func TestPatience(t *testing.T) {
	w := newWorld(t, quickDir(t))
	_, err := w.attempt(0, func(r *Rollout) error {
		r.opt.command = nil
		return r.members[0].run(t.Context(), "start", "exec sleep 1000")
	})
	if err == nil || !strings.Contains(err.Error(), "exec sleep 1000: killed because it took longer than the patience of m1, 1ns") {
		t.Errorf("it says %v", err)
	}
}

// An interrupt while the engine is stopped takes effect once the engine runs again.
func TestInterruptedAtASafePoint(t *testing.T) {
	w := newWorld(t, quickDir(t))
	ctx, cancel := context.WithCancel(context.Background())
	_, err := w.attempt(0, func(r *Rollout) error {
		r.opt.At = func(point string) {
			if point == "copied" {
				cancel()
			}
		}
		return r.Run(ctx)
	})
	if err != nil || !w.running {
		t.Fatalf("running is %v, error %v", w.running, err)
	}

	w.wholly()
	w = newWorld(t, quickDir(t))
	if _, err := w.attempt(0, func(r *Rollout) error { return r.Run(ctx) }); !errors.Is(err, ErrInterrupted) || !w.running {
		t.Fatalf("running is %v, error %v", w.running, err)
	}
}

// A rollout with unmet preconditions does not begin, and reports the reason.
func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(w *world) error
		want    string
	}{
		"an earlier move": {func(w *world) error { return os.Mkdir(filepath.Join(w.dir, "mount", "the-log"), 0o700) }, "an earlier rollout left these"},
		"no log":          {func(w *world) error { return os.Remove(w.file()) }, "contains no file of the log"},
		"an empty log":    {func(w *world) error { return os.WriteFile(w.file(), make([]byte, 100), 0o600) }, "contains no file of the log"},
		"a link":          {func(w *world) error { return os.Symlink("/etc/passwd", filepath.Join(w.dir, "data/log/x")) }, "neither a file nor a folder"},
		"log is a link": {func(w *world) error {
			log := filepath.Dir(w.file())
			return errors.Join(os.Rename(log, log+"2"), os.Symlink(log+"2", log))
		}, "is already a link"},
		"no mount": {func(w *world) error { return os.Remove(filepath.Join(w.dir, "mount")) }, "the new volume is not mounted at"},
		"stopped":  {func(w *world) error { w.stop(); return nil }, "no process uses"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, quickDir(t))
			was := w.running
			if err := tt.prepare(w); err != nil {
				t.Fatal(err)
			}

			_, err := w.attempt(0, goOn)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("it says %v, want %q", err, tt.want)
			}

			if name == "a link" { // only found during the copy, when the engine is stopped
				if _, err := w.attempt(0, goBack); err != nil {
					t.Error(err)
				}
			}

			if name != "stopped" && w.running != was {
				t.Error("the engine was stopped")
			}
		})
	}
}

// Only one process can run a rollout, and only one rollout can run on a member.
func TestLocked(t *testing.T) {
	w := newWorld(t, quickDir(t))
	folder, err := OpenFolder(filepath.Join(w.dir, "rollout"), true)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := OpenFolder(filepath.Join(w.dir, "rollout"), true); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("opened twice: %v", err)
	}

	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}

	data, err := os.Open(filepath.Join(w.dir, "data"))
	if err != nil {
		t.Fatal(err)
	}

	defer data.Close()
	if err := flock(data); err != nil {
		t.Fatal(err)
	}

	if _, err := w.attempt(0, goOn); err == nil || !strings.Contains(err.Error(), "another rollout") {
		t.Errorf("worked on a member that another one works on: %v", err)
	}
}

// The old log is only removed if the recordings prove an improvement, or with force.
func TestFinishNeedsProof(t *testing.T) {
	w := newWorld(t, quickDir(t))
	if _, err := w.attempt(0, goOn); err != nil {
		t.Fatal(err)
	}

	finish := func(force bool) func(*Rollout) error {
		return func(r *Rollout) error { return r.Finish(context.Background(), force) }
	}
	if _, err := w.attempt(0, finish(false)); err == nil || !strings.Contains(err.Error(), "until the recordings prove an improvement") {
		t.Errorf("finished without proof: %v", err)
	}

	if _, err := w.attempt(0, finish(true)); err != nil {
		t.Fatal(err)
	}

	w.wholly()
	if _, err := w.attempt(0, goBack); err == nil {
		t.Error("went back after it was finished")
	}
}

func TestParseSite(t *testing.T) {
	good := "members:\n  - name: a\n    data: /var/lib/x\n    volumes: {wal: /mnt/wal/}\n    unit: x@1\n    patience: 30s\n"
	s, err := ParseSite("site.yaml", []byte(good))
	if err != nil || s.Members[0].patience() != 30*time.Second || *s.Members[0].Volumes.Get("wal") != "/mnt/wal" {
		t.Fatalf("%+v, %v", s, err)
	}

	for text, want := range map[string]string{
		"members: []":              "has 0 members",
		"members: [{data: lib/x}]": "not an absolute path",
		"members: [{data: /x, unit: a, start: b, stop: c}]": "either the unit or",
		"members: [{data: /x, start: b}]":                   "start and stop must be given together",
		"members: [{data: /x}, {name: b, data: /x}]":        "is the data folder of m1",
		"members: [{data: /x, name: ../y}]":                 "cannot name a file",
		"members: [{data: /x, stopp: y}]":                   "stopp",
		"members: &a [*a]":                                  "",
	} {
		if _, err := ParseSite("site.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
