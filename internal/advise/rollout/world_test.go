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

	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/base/yamltree"
)

// killed is the panic value that ends a rollout at a point of a test. As with SIGKILL, nothing runs afterwards.
type killed struct{ point string }

// A world is a simulated engine whose log is one open file, together with the writes that its clients
// consider acknowledged. Each start checks the log against them.
type world struct {
	t interface {
		Fatalf(format string, args ...any)
		Helper()
	}
	dir     string
	running bool
	log     *os.File // open while it runs
	acked   []byte
	fails   int // the next starts that fail
	// A supervisor starts the engine at the nth point, and it may exit again; startedAt is that point.
	supervised int
	ends       bool
	startedAt  string
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
	if err := os.WriteFile(w.file(), []byte("first "), 0o600); err != nil {
		t.Fatalf("%v", err)
	}
	w.acked = []byte("first ")
	if err := w.start(); err != nil {
		t.Fatalf("%v", err)
	}
	return w
}

func (w *world) file() string { return filepath.Join(w.dir, "data", worldLog, worldFile) }

// write appends to the log, which acknowledges the write.
func (w *world) write(text string) {
	w.t.Helper()
	if !w.running {
		return
	}
	if _, err := w.log.WriteString(text); err != nil {
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
		return err // without the folder, an engine does not start
	}

	if len(entries) == 0 {
		w.t.Fatalf("started on an empty log")
	}

	text, err := os.ReadFile(w.file())
	if err != nil || string(text) != string(w.acked) {
		w.t.Fatalf("started on a log with %q (%v), and %q was acknowledged", text, err, w.acked)
	}

	if w.log, err = os.OpenFile(w.file(), os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}

	w.running = true
	return nil
}

// stop stops the engine, like a stop command, a kill or a reboot.
func (w *world) stop() {
	if w.running {
		_ = w.log.Close() // everything is written already
	}
	w.running = false
}

// holders returns the engine if it has a file open in one of the folders.
func (w *world) holders(dirs ...string) ([]string, error) {
	if !w.running {
		return nil, nil
	}
	is, err := w.log.Stat()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if other, err := os.Stat(filepath.Join(dir, worldFile)); err == nil && os.SameFile(is, other) {
			return []string{"the engine"}, nil
		}
	}
	return nil, nil
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
			w.stop()
			return nil
		},
		holders: w.holders,
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

// load opens the rollout's folder and reads its state; nil if there is none yet.
func (w *world) load() (*Folder, *State) {
	w.t.Helper()
	folder, err := OpenFolder(filepath.Join(w.dir, "rollout"), true)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	state, err := folder.Load()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return folder, state
}

// attempt runs a rollout until it ends, fails, or is killed at the nth point.
func (w *world) attempt(n int, act func(*Rollout) error) (killedAt string, err error) {
	w.t.Helper()
	folder, state := w.load()
	defer folder.Close()

	if state == nil {
		state = &State{Version: stateVersion, Direction: steps.GoesForward}
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
		points++
		if points == w.supervised {
			w.startedAt = point
			_ = w.start() // it may have no log at that moment
			w.write("by a supervisor ")
			if w.ends {
				w.stop()
			}
		}

		if points == n {
			panic(killed{point})
		}
	}))
}

func goOn(r *Rollout) error   { return r.Run(context.Background()) }
func goBack(r *Rollout) error { return r.Undo(context.Background()) }

// quick returns a folder in memory, where syncs are free; "" if there is none.
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

// wholly fails unless the rollout completed in its direction.
func (w *world) wholly() {
	w.t.Helper()
	if !w.running {
		w.t.Fatalf("the engine does not run")
	}

	w.write("last ")
	w.stop()
	if err := w.start(); err != nil {
		w.t.Fatalf("it does not start again: %v", err)
	}

	folder, state := w.load()
	defer folder.Close()
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
	case state.Direction == steps.IsUndone && (moved || len(remain) > 0):
		w.t.Fatalf("undone, and moved is %v, and there remain %q", moved, remain)
	case state.Direction == steps.GoesForward && (!moved || !r.Done() || !slices.Equal(remain, []string{"the-log", "log.plimsoll-old"})):
		w.t.Fatalf("done is %v, moved is %v, there are %q", r.Done(), moved, remain)
	case state.Direction == steps.IsFinished && (!moved || !slices.Equal(remain, []string{"the-log"})):
		w.t.Fatalf("finished, and moved is %v, and there are %q", moved, remain)
	case state.Direction == steps.GoesBack || state.Direction == steps.IsFinishing:
		w.t.Fatalf("it still is %s", state.Direction)
	}
}
