//go:build linux

package rollout

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// small mounts a file system of one megabyte on a folder of the world; it needs root.
func (w *world) small(t *testing.T, name string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}

	path := filepath.Join(w.dir, name)
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip(err)
	}

	t.Cleanup(func() {
		w.stop()
		if err := syscall.Unmount(path, 0); err != nil {
			t.Error(err)
		}
	})

	return path
}

// fill writes to a file until the disk is full.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// If the new volume fills up during the copy, the log stays in place. The rollout can be undone, or resumed
// once there is space.
func TestNewVolumeFills(t *testing.T) {
	for name, act := range map[string]func(*Rollout) error{"resume": goOn, "undo": goBack} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, quickDir(t))
			mount := w.small(t, "mount")
			w.write(string(bytes.Repeat([]byte("x"), 100_000)))
			ballast := filepath.Join(mount, "ballast")
			err := w.with("copy", func() error { return fill(ballast) }, goOn)
			says(t, err, `stopped at "m1: copy", action failed (the engine is stopped)`, "no space left on device", "--undo goes back")

			if name == "resume" {
				if err := os.Remove(ballast); err != nil {
					t.Fatal(err)
				}
			}

			if _, err := w.attempt(0, act); err != nil {
				t.Fatal(err)
			}

			w.wholly()
		})
	}
}

// A new volume that is too small or read-only is refused before the engine stops.
func TestUnsuitableNewVolume(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(w *world, mount string) error
		want    string
	}{
		"too small": {func(w *world, _ string) error { w.write(string(bytes.Repeat([]byte("x"), 2_000_000))); return nil }, "m1: the log has 2.00 MB, but only 1.05 MB are free on "},
		"read-only": {func(_ *world, mount string) error {
			return syscall.Mount("", mount, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
		}, "is mounted read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, quickDir(t))
			mount := w.small(t, "mount")
			if err := tt.prepare(w, mount); err != nil {
				t.Fatal(err)
			}
			_, err := w.attempt(0, goOn)
			says(t, err, `stopped at "m1: check", precondition failed: `, tt.want)
			if left, err := os.ReadDir(mount); err != nil || len(left) > 0 || !w.running {
				t.Errorf("there are %v (%v), and the engine runs: %v", left, err, w.running)
			}
		})
	}
}

// A read-only folder for the state is reported before anything else happens.
func TestStateFolderIsReadOnly(t *testing.T) {
	w := newWorld(t, quickDir(t))
	path := w.small(t, "mount")
	if err := syscall.Mount("", path, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{path, filepath.Join(path, "rollout")} {
		_, err := OpenFolder(dir, true)
		says(t, err, "read-only file system", "nothing was changed; use --out to name a writable folder")
	}
}

// If the newer log does not fit into the data folder's file system, an undo neither stops the engine nor
// removes anything. Once there is space, the undo works.
func TestNoRoomToGoBack(t *testing.T) {
	w := newWorld(t, quickDir(t))
	w.stop()
	data := filepath.Join(w.dir, "data")

	text, err := os.ReadFile(w.file())
	if err != nil {
		t.Fatal(err)
	}

	w.small(t, "data")
	if err := errors.Join(os.Mkdir(filepath.Join(data, worldLog), 0o700), os.WriteFile(w.file(), text, 0o600), w.start()); err != nil {
		t.Fatal(err)
	}

	if _, err := w.attempt(0, goOn); err != nil {
		t.Fatal(err)
	}

	w.write(string(bytes.Repeat([]byte("x"), 100_000)))
	ballast := filepath.Join(data, "ballast")
	if err := fill(ballast); err != nil {
		t.Fatal(err)
	}

	_, err = w.attempt(0, goBack)
	says(t, err, "undo failed", "are available in", "even without the old log: the log was not moved back, and nothing was removed", "make room there")
	if !w.running {
		t.Error("the engine was stopped")
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}

	if _, err := w.attempt(0, goBack); err != nil {
		t.Fatal(err)
	}

	w.wholly()
}
