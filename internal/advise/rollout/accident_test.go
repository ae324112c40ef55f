//go:build linux

package rollout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// with runs a rollout, and calls do once at a point.
func (w *world) with(point string, do func() error, act func(*Rollout) error) error {
	w.t.Helper()
	done := false
	_, err := w.attempt(0, func(r *Rollout) error {
		at := func(p string) {
			if p == point && !done {
				done = true
				if err := do(); err != nil {
					w.t.Fatalf("at %q: %v", p, err)
				}
			}
		}

		r.opt.At = at
		for _, m := range r.members {
			m.move.at = at
		}

		return act(r)
	})

	if !done {
		w.t.Fatalf("never came to %q: %v", point, err)
	}

	return err
}

// says fails unless an error, including its hint, contains all the texts.
func says(t *testing.T, err error, wanted ...string) {
	t.Helper()
	text := fmt.Sprint(err)
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		text += " | " + h.Hint()
	}
	for _, want := range wanted {
		if err == nil || !strings.Contains(text, want) {
			t.Errorf("it says %q, want %q", text, want)
		}
	}
}

// A copy that differs from the original never becomes the log.
func TestCopyDiffers(t *testing.T) {
	w := newWorld(t, quickDir(t))
	part := filepath.Join(w.dir, "mount", "the-log"+partSuffix, worldFile)
	err := w.with("copied", func() error { return os.WriteFile(part, []byte("firsT "), 0o600) }, goOn)
	says(t, err, `stopped at "m1: copy", action failed (the engine is stopped)`, "the copy differs from the original: 1.log has different contents in", "--undo goes back")
	if _, err := w.attempt(0, goOn); err != nil {
		t.Fatalf("again: %v", err)
	}
	w.wholly()
}

// A rollout whose state cannot be saved stops, and reports whether the engine is stopped.
func TestStateCannotBeSaved(t *testing.T) {
	for name, act := range map[string]func(*Rollout) error{"resume": goOn, "undo": goBack} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, quickDir(t))
			dir := filepath.Join(w.dir, "rollout")
			err := w.with("did m1: copy", func() error { return os.Rename(dir, dir+"-away") }, goOn)
			says(t, err, `stopped at "m1: copy", saving the state failed (the engine is stopped)`, "--resume continues in the same direction")
			if err := os.Rename(dir+"-away", dir); err != nil {
				t.Fatal(err)
			}
			if _, err := w.attempt(0, act); err != nil {
				t.Fatal(err)
			}
			w.wholly()
		})
	}
}

// A command of a killed run may still be starting or stopping the engine. The next run waits for it.
func TestCommandOfAnEarlierRun(t *testing.T) {
	w := newWorld(t, quickDir(t))
	proceed := filepath.Join(w.dir, "go")
	if err := syscall.Mkfifo(proceed, 0o600); err != nil {
		t.Fatal(err)
	}

	_, err := w.attempt(0, func(r *Rollout) error {
		m := r.members[0]
		r.opt.command = nil
		site := *m.Member
		site.Patience = 1e12
		patient := *m
		patient.Member = &site
		ended := make(chan error, 1)
		go func() { ended <- patient.run(t.Context(), "stop", "read x < "+proceed+"; exec 3>&-; test $x = now") }()

		f, err := os.OpenFile(proceed, os.O_WRONLY, 0) // returns once the command reads
		if err != nil {
			return err
		}

		says(t, m.ensureStopped(t.Context()), "a command from an earlier run is still starting or stopping m1", "wait until it ends")
		if _, err := f.WriteString("now\n"); err != nil {
			return err
		}

		if err := errors.Join(f.Close(), <-ended); err != nil {
			return err
		}

		return m.settled(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A command runs in its own session, so that Ctrl-C on a terminal does not reach what it starts. It does
// not inherit the lock's descriptor.
func TestCommandsRunInOwnSession(t *testing.T) {
	w := newWorld(t, quickDir(t))
	session, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.attempt(0, func(r *Rollout) error {
		r.opt.command = nil
		r.members[0].Patience = 1e12
		return r.members[0].run(t.Context(), "start", fmt.Sprintf("set -- $(cat /proc/self/stat); test $6 != %d && ! test -e /proc/self/fd/3", session))
	})
	if err != nil {
		t.Error(err)
	}
}

// A folder with other contents is not treated as a rollout's, and stays unchanged.
func TestFolderWithOtherContents(t *testing.T) {
	dir := quickDir(t)
	if err := os.Mkdir(filepath.Join(dir, "before"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := OpenFolder(dir, true)
	says(t, err, "is not a rollout's folder: it contains before", "new or empty")
	if _, err := os.Stat(filepath.Join(dir, lockName)); err == nil {
		t.Error("it was changed")
	}
}

// A truncated state, one of a later version, or one with invalid values is refused, and nothing happens.
func TestInvalidState(t *testing.T) {
	w := newWorld(t, quickDir(t))
	if _, err := w.attempt(0, goOn); err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(w.dir, "rollout", stateName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	for text, want := range map[string]string{
		string(good[:len(good)/2]):             "state.json: unexpected end of JSON input",
		"":                                     "cannot read ",
		`{"version": 2, "steps": {"a": true}}`: "has version 2, this program reads 1",
		strings.Replace(string(good), `"forward"`, `"sideways"`, 1): `unknown direction "sideways"`,
		strings.Replace(string(good), `"done"`, `"dome"`, 1):        `unknown phase "dome"`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		folder, err := OpenFolder(filepath.Dir(path), false)
		if err != nil {
			t.Fatal(err)
		}
		_, err = folder.Load()
		says(t, errors.Join(err, folder.Close()), want)
	}
}

// The copy keeps ACLs, labels and other attributes.
func TestAttributes(t *testing.T) {
	w := newWorld(t, quickDir(t))
	if err := unix.Setxattr(w.file(), "user.plimsoll", []byte("kept"), 0); err != nil {
		t.Skip("no extended attributes here: ", err)
	}
	if _, err := w.attempt(0, goOn); err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 10)
	n, err := unix.Getxattr(filepath.Join(w.dir, "mount", "the-log", worldFile), "user.plimsoll", value)
	if err != nil || string(value[:n]) != "kept" {
		t.Errorf("%q, %v", value[:n], err)
	}
}

// A user who cannot see the engine's processes must not run a rollout.
func TestNeedsRootOrTheOwner(t *testing.T) {
	w := newWorld(t, quickDir(t))
	if _, err := w.attempt(0, func(r *Rollout) error {
		const otherUser = 12345
		says(t, r.members[0].allows(otherUser), "user 12345 cannot see which processes use", "run it as root, or as the owner")
		return errors.Join(r.members[0].allows(0), r.members[0].allows(os.Geteuid()))
	}); err != nil {
		t.Error(err)
	}
}
