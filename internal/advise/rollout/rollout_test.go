//go:build linux

package rollout

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/yamltree"
)

// killed is what ends a rollout at a point in a test: like SIGKILL, nothing is done afterwards.
type killed struct{ point string }

// A world is an engine of one file, and what its clients were told is written. It is checked each
// time it starts.
type world struct {
	t interface {
		Fatalf(format string, args ...any)
		Helper()
	}
	dir     string
	running bool
	acked   []byte
	fails   int // the next starts that fail
}

const (
	worldLog  = "log"
	worldFile = "1.log"
)

func newWorld(t interface {
	Fatalf(format string, args ...any)
	Helper()
}, dir string,
) *world {
	w := &world{t: t, dir: dir}
	for _, d := range []string{"data/log/archive", "mount"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatalf("%v", err)
		}
	}
	w.running = true
	w.write("first ")
	return w
}

func (w *world) file() string { return filepath.Join(w.dir, "data", worldLog, worldFile) }

// write is acknowledged when it is in the log.
func (w *world) write(text string) {
	w.t.Helper()
	if !w.running {
		return
	}
	f, err := os.OpenFile(w.file(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.t.Fatalf("the engine's log is gone while it runs: %v", err)
	}
	w.acked = append(w.acked, text...)
}

// start opens the log, as the rollout or a booting machine does.
func (w *world) start() error {
	w.t.Helper()
	if w.fails > 0 {
		w.fails--
		return errors.New("it does not start this time")
	}
	if w.running {
		return nil
	}
	entries, err := os.ReadDir(filepath.Dir(w.file()))
	if err != nil {
		return err // no folder: an engine does not start
	}
	if len(entries) == 0 {
		w.t.Fatalf("started on an empty log")
	}
	text, err := os.ReadFile(w.file())
	if err != nil || string(text) != string(w.acked) {
		w.t.Fatalf("started on a log with %q (%v), and %q was acknowledged", text, err, w.acked)
	}
	w.running = true
	return nil
}

func (w *world) procedure() Procedure {
	return Procedure{
		Log: worldLog, Into: "the-log", IsLog: func(name string) bool { return strings.HasSuffix(name, ".log") },
		Running: func(*Member) (string, error) {
			if w.running {
				return "the engine", nil
			}
			return "", nil
		},
	}
}

// rollout prepares the world's rollout from its state.
func (w *world) rollout(folder *Folder, state *State, at func(string)) *Rollout {
	w.t.Helper()
	r := &Rollout{Log: "log", folder: folder, state: state, proc: w.procedure(), site: &Site{Trial: true}}
	r.opt = Options{
		At: at,
		command: func(_ context.Context, command string) error {
			if command == "start" {
				return w.start()
			}
			w.running = false
			return nil
		},
		holders: func(...string) ([]string, error) { return nil, nil },
	}
	of := Member{Name: "m1", Data: filepath.Join(w.dir, "data"), Start: "start", Stop: "stop", Patience: 1}
	of.Volumes = append(of.Volumes, yamltree.Named[string]{Name: "log", Value: filepath.Join(w.dir, "mount")})
	m, err := r.newMember(&of)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	r.members = []*member{m}
	r.build(0)
	if err := r.adopt(); err != nil {
		w.t.Fatalf("%v", err)
	}
	return r
}

// attempt runs a rollout until it ends, fails, or is killed at the nth point.
func (w *world) attempt(n int, act func(*Rollout) error) (killedAt string, err error) {
	w.t.Helper()
	folder, err := OpenFolder(filepath.Join(w.dir, "rollout"), true)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	defer folder.Close()
	state, err := folder.Load()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	if state == nil {
		state = &State{Version: stateVersion, Direction: Forward}
	}
	defer func() {
		if k, is := recover().(killed); is {
			killedAt = k.point
		} else if k.point != "" {
			panic(k)
		}
	}()
	points := 0
	return "", act(w.rollout(folder, state, func(point string) {
		if points++; points == n {
			panic(killed{point})
		}
	}))
}

func goOn(r *Rollout) error   { return r.Run(context.Background()) }
func goBack(r *Rollout) error { return r.Undo(context.Background()) }

// quick is a folder in memory, where syncing is free; "" if there is none.
func quick() string {
	const dir = "/dev/shm"
	if f, err := os.CreateTemp(dir, "plimsoll"); err == nil {
		_ = errors.Join(f.Close(), os.Remove(f.Name()))
		return dir
	}
	return ""
}

// quickDir is t.TempDir in memory.
func quickDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(quick(), "rollout")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// wholly fails unless the rollout ended as a whole, in the direction it was asked for.
func (w *world) wholly() {
	w.t.Helper()
	if !w.running {
		w.t.Fatalf("the engine does not run")
	}
	w.write("last ")
	w.running = false
	if err := w.start(); err != nil {
		w.t.Fatalf("it does not start again: %v", err)
	}
	folder, err := OpenFolder(filepath.Join(w.dir, "rollout"), false)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	defer folder.Close()
	state, err := folder.Load()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	r := w.rollout(folder, state, nil)
	v := r.members[0].move
	moved, err := v.moved()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	var remain []string
	for _, path := range v.remains() {
		remain = append(remain, filepath.Base(path))
	}
	switch {
	case state.Direction == Undone && (moved || len(remain) > 0):
		w.t.Fatalf("undone, and moved is %v, and there remain %q", moved, remain)
	case state.Direction == Forward && (!moved || !r.Done() || !slices.Equal(remain, []string{"the-log", "log.plimsoll-old"})):
		w.t.Fatalf("done is %v, moved is %v, there are %q", r.Done(), moved, remain)
	case state.Direction == Finished && (!moved || !slices.Equal(remain, []string{"the-log"})):
		w.t.Fatalf("finished, and moved is %v, and there are %q", moved, remain)
	case state.Direction == Undoing || state.Direction == Finishing:
		w.t.Fatalf("it still is %s", state.Direction)
	}
}

// A rollout is killed again and again, wherever that may be; machines boot meanwhile, starts fail,
// and clients write whenever the engine runs. Going on or going back ends as a whole, the engine is
// never started on a log that lacks an acknowledged write, and never on an empty one.
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
			at, err := w.attempt(rapid.IntRange(1, 60).Draw(t, "point"), act)
			w.fails = 0
			t.Logf("killed at %q, error %v", at, err)
			w.write("meanwhile ")
			switch rapid.IntRange(0, 3).Draw(t, "the machine") {
			case 0: // it boots: the engine starts by itself
				w.running = false
				_ = w.start() // it may have no log just then
				w.write("booted ")
			case 1: // somebody starts it by hand
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
		} else if _, err := w.attempt(0, func(r *Rollout) error { return r.Finish(context.Background(), true) }); err != nil && w.undone() == "" {
			t.Fatalf("finish: %v", err)
		} else {
			w.wholly()
		}
	})
}

// undone reports the direction if the rollout was undone.
func (w *world) undone() string {
	folder, err := OpenFolder(filepath.Join(w.dir, "rollout"), false)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	defer folder.Close()
	s, err := folder.Load()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	if s.Direction == Undone {
		return s.Direction
	}
	return ""
}

// Killed at every single point once, a rollout goes on, and goes back.
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

// Killed at every point of an undo, after the engine wrote to the new volume, it still goes back.
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
		if _, err := w.attempt(0, goOn); err != nil { // what it was doing: going back
			t.Fatalf("killed at %q: %v", at, err)
		}
		w.wholly()
		if w.undone() == "" {
			t.Fatalf("killed at %q: it was not undone", at)
		}
		if at == "" {
			break
		}
	}
}

// A start that fails stops the rollout there; trying again and going back both work.
func TestStopsAtTheFirstFailure(t *testing.T) {
	for name, act := range map[string]func(*Rollout) error{"resume": goOn, "undo": goBack} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, quickDir(t))
			w.fails = 1
			_, err := w.attempt(0, goOn)
			var stopped *StepError
			if !errors.As(err, &stopped) || stopped.Step != "m1: start" || stopped.Stage != "action" {
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

// An interrupt while the engine is stopped takes effect when it runs again.
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

// What must not begin does not, and says why.
func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(w *world) error
		want    string
	}{
		"an earlier move": {func(w *world) error { return os.Mkdir(filepath.Join(w.dir, "mount", "the-log"), 0o700) }, "something is already there"},
		"no log":          {func(w *world) error { return os.Remove(w.file()) }, "has no file of the log"},
		"an empty log":    {func(w *world) error { return os.WriteFile(w.file(), make([]byte, 100), 0o600) }, "has no file of the log"},
		"a link":          {func(w *world) error { return os.Symlink("/etc/passwd", filepath.Join(w.dir, "data/log/x")) }, "neither a file nor a folder"},
		"log is a link": {func(w *world) error {
			log := filepath.Dir(w.file())
			return errors.Join(os.Rename(log, log+"2"), os.Symlink(log+"2", log))
		}, "is a link already"},
		"no mount": {func(w *world) error { return os.Remove(filepath.Join(w.dir, "mount")) }, "the new volume is not at"},
		"stopped":  {func(w *world) error { w.running = false; return nil }, "no process uses"},
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
			if name == "a link" { // found when copying: the engine is stopped, and goes back
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

// Only one process works on a rollout, and only one rollout on a member.
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

// What was kept is removed when the recordings prove better, or when somebody insists.
func TestFinishNeedsProof(t *testing.T) {
	w := newWorld(t, quickDir(t))
	if _, err := w.attempt(0, goOn); err != nil {
		t.Fatal(err)
	}
	finish := func(force bool) func(*Rollout) error {
		return func(r *Rollout) error { return r.Finish(context.Background(), force) }
	}
	if _, err := w.attempt(0, finish(false)); err == nil || !strings.Contains(err.Error(), "until the recordings prove better") {
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
		"members: [{data: /x, start: b}]":                   "start and stop go together",
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
