//go:build linux

package rollout

import (
	"context"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/advise/rollout/steps"
)

// A rollout is killed repeatedly at random points, while the machine reboots, starts fail, and clients
// write whenever the engine runs. A resume or an undo always completes. The engine never starts on an
// empty log, nor on one that lacks an acknowledged write.
func TestKilledAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(quick(), "rollout")
		if err != nil {
			t.Fatalf("%v", err)
		}

		defer os.RemoveAll(dir)
		w := newWorld(t, dir)

		act := goOn
		for range rapid.IntRange(0, 6).Draw(t, "kills") {
			if rapid.IntRange(0, 3).Draw(t, "turn") == 0 {
				act = goBack
			}

			w.fails = rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "failing starts")
			w.supervised = rapid.SampledFrom([]int{0, 0, rapid.IntRange(1, 60).Draw(t, "supervisor")}).Draw(t, "supervised")
			at, err := w.attempt(rapid.IntRange(1, 60).Draw(t, "point"), act)
			w.fails, w.supervised = 0, 0
			t.Logf("killed at %q, error %v", at, err)
			w.write("meanwhile ")

			switch rapid.IntRange(0, 3).Draw(t, "the machine") {
			case 0: // it boots: the engine starts on its own
				w.stop()
				_ = w.start() // it may have no log at that moment
				w.write("booted ")
			case 1: // a user starts it by hand
				_ = w.start()
				w.write("by hand ")
			}
		}

		if _, err := w.attempt(0, act); err != nil {
			t.Fatalf("in the end: %v", err)
		}

		w.wholly()
		if rapid.Bool().Draw(t, "back at last") {
			if _, err := w.attempt(rapid.IntRange(1, 60).Draw(t, "point"), goBack); err != nil {
				t.Fatalf("undo: %v", err)
			}
			if _, err := w.attempt(0, goBack); err != nil {
				t.Fatalf("undo: %v", err)
			}
			w.wholly()
		} else if _, err := w.attempt(0, func(r *Rollout) error { return r.Finish(context.Background(), true) }); err != nil && !w.undone() {
			t.Fatalf("finish: %v", err)
		} else {
			w.wholly()
		}
	})
}

// A supervisor starts the stopped engine at any point. The rollout then fails with that reason, and the
// engine never loses a write that it acknowledged in the meantime. After the supervisor is paused, the
// rollout continues.
func TestStartedBySupervisor(t *testing.T) {
	for name, act := range map[string]func(*Rollout) error{"forward": goOn, "back": goBack, "forward, and ends": goOn, "back, and ends": goBack} {
		t.Run(name, func(t *testing.T) {
			refused := map[string]bool{}
			for n := 1; ; n++ {
				w := newWorld(t, quickDir(t))
				if strings.HasPrefix(name, "back") {
					if _, err := w.attempt(0, goOn); err != nil {
						t.Fatal(err)
					}
					w.write("on the new volume ")
				}

				w.supervised, w.startedAt, w.ends = n, "", strings.HasSuffix(name, "ends")
				_, err := w.attempt(0, act)
				at := w.startedAt
				if at == "" {
					break
				}

				if err != nil {
					refused[at] = true
				}

				w.supervised = 0
				w.write("afterwards ")
				if !w.running {
					// It exited before the rollout stopped it, and the rollout needs it running.
					if err := w.start(); err != nil {
						t.Fatal(err)
					}
				}

				if _, err := w.attempt(0, act); err != nil {
					t.Fatalf("started at %q (%d): %v", at, n, err)
				}

				w.wholly()
			}

			for _, point := range []string{"compared", "before exchanging"} {
				if !refused[point] && !strings.HasSuffix(name, "ends") {
					t.Errorf("not refused at %q, but at %v", point, refused)
				}
			}
		})
	}
}

// undone reports whether the rollout was undone.
func (w *world) undone() bool {
	folder, state := w.load()
	defer folder.Close()
	return state.Direction == steps.IsUndone
}

// A rollout killed at any single point can be resumed and undone.
func TestKilledAtEveryPoint(t *testing.T) {
	for name, act := range map[string]func(*Rollout) error{"resume": goOn, "undo": goBack} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for n := 1; ; n++ {
				w := newWorld(t, quickDir(t))
				at, err := w.attempt(n, goOn)
				if err != nil {
					t.Fatal(err)
				}

				w.write("meanwhile ")
				if _, err := w.attempt(0, act); err != nil {
					t.Fatalf("killed at %q: %v", at, err)
				}

				w.wholly()
				if at == "" {
					break
				}

				seen[at] = true
			}

			for _, point := range []string{"begun m1: stop", "done m1: stop", "copy", "copied", "compared", "named", "linked", "exchanged", "kept", "begun m1: start", "done m1: start"} {
				if !seen[point] {
					t.Errorf("never killed at %q", point)
				}
			}
		})
	}
}

// An undo killed at any point, after the engine wrote to the new volume, can be resumed.
func TestKilledWhileUndoing(t *testing.T) {
	for n := 1; ; n++ {
		w := newWorld(t, quickDir(t))
		if _, err := w.attempt(0, goOn); err != nil {
			t.Fatal(err)
		}

		w.write("on the new volume ")
		at, err := w.attempt(n, goBack)
		if err != nil {
			t.Fatal(err)
		}

		w.write("meanwhile ")
		if _, err := w.attempt(0, goOn); err != nil { // resumes the undo
			t.Fatalf("killed at %q: %v", at, err)
		}

		w.wholly()
		if !w.undone() {
			t.Fatalf("killed at %q: it was not undone", at)
		}

		if at == "" {
			break
		}
	}
}
