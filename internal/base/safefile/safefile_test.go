//go:build unix

package safefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"plimsoll/internal/base/safefile"
)

func TestWriteMakesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	if err := safefile.Write(path, []byte("one"), safefile.Options{}); err != nil {
		t.Fatal(err)
	}
	want(t, path, "one")
	alone(t, path)
}

func TestWriteKeepsTheModeOfTheFileItReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.sh")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, mode := range []fs.FileMode{0o700, 0o640, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := safefile.Write(path, []byte("two"), safefile.Options{Mode: 0o755}); err != nil {
			t.Fatal(err)
		}
		want(t, path, "two")
		if got := modeOf(t, path); got != mode {
			t.Errorf("mode %v became %v", mode, got)
		}
	}
}

// No umask makes a new file writable for others, and none makes it unreadable for its owner.
func TestWriteUnderAnyUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	for _, c := range []struct {
		umask      int
		mode, want fs.FileMode
	}{
		{0, 0o644, 0o644}, {0, 0o600, 0o600}, {0o022, 0o755, 0o755}, {0o077, 0o644, 0o600}, {0o777, 0o644, 0o600},
	} {
		path := filepath.Join(t.TempDir(), "a")
		syscall.Umask(c.umask)
		err := safefile.Write(path, nil, safefile.Options{Mode: c.mode})
		syscall.Umask(0)
		if err != nil {
			t.Fatalf("umask %o: %v", c.umask, err)
		}
		if got := modeOf(t, path); got != c.want {
			t.Errorf("umask %o, mode %v: the file has %v, want %v", c.umask, c.mode, got, c.want)
		}
	}
}

func TestWriteRefusesWhatIsNotAFile(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}

	for what, plant := range map[string]func(string) error{
		"a symbolic link": func(at string) error { return os.Symlink(victim, at) },
		"a named pipe":    func(at string) error { return syscall.Mkfifo(at, 0o644) },
		"a folder":        func(at string) error { return os.Mkdir(at, 0o755) },
	} {
		path := filepath.Join(t.TempDir(), "out")
		if err := plant(path); err != nil {
			t.Fatal(err)
		}
		err := safefile.Write(path, []byte("x"), safefile.Options{})
		var refused *safefile.NotFileError
		if !errors.As(err, &refused) || refused.What() != what || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", what, err)
		}
		alone(t, path)
	}

	want(t, victim, "precious")
}

// A link that is planted during the write is refused as well, and no temporary file remains.
func TestCommitRefusesALinkPlantedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	victim, path := filepath.Join(t.TempDir(), "victim"), filepath.Join(dir, "out")
	f, err := safefile.Create(path, safefile.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(victim, path); err != nil {
		t.Fatal(err)
	}

	if err := f.Commit(); err == nil {
		t.Fatal("committed over a link")
	}

	if _, err := os.Lstat(victim); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link was followed: %v", err)
	}

	alone(t, path)
}

func TestNewRefusesAFileThatExists(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f, err := safefile.Create(path, safefile.Options{New: true})
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}

	if err := f.Commit(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("commit: %v", err)
	}

	if _, err := safefile.Create(path, safefile.Options{New: true}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create: %v", err)
	}

	want(t, path, "theirs")
	alone(t, path)
}

func TestDiscardLeavesWhatWasThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}

	f, err := safefile.Create(path, safefile.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := f.Write([]byte("half of")); err != nil {
		t.Fatal(err)
	}

	if err := errors.Join(f.Discard(), f.Discard()); err != nil {
		t.Fatal(err)
	}

	want(t, path, "one")
	alone(t, path)
}

func TestRemoveLeftoversOfKilledWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	other := filepath.Join(filepath.Dir(path), "b.json")
	for _, p := range []string{path, path, other} {
		if _, err := safefile.Create(p, safefile.Options{}); err != nil { // killed here
			t.Fatal(err)
		}
	}
	if err := safefile.RemoveLeftovers(path); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 || !safefile.IsLeftover(left[0].Name()) || !strings.Contains(left[0].Name(), "b.json") {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestOpenRefusesWhatIsNotAFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}

	link := filepath.Join(dir, "link")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}

	for _, path := range []string{pipe, link, dir, os.DevNull} {
		var refused *safefile.NotFileError
		if _, err := safefile.Open(path); !errors.As(err, &refused) {
			t.Errorf("%s: %v", path, err)
		}
	}

	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}

	f, err := safefile.Open(file)
	if err != nil {
		t.Fatal(err)
	}

	f.Close()
	if err := safefile.NoLink(link); err == nil {
		t.Error("a link is none")
	}

	if err := safefile.NoLink(file); err != nil {
		t.Error(err)
	}
}

func want(t *testing.T, path, text string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("%s holds %q (%v), want %q", path, got, err, text)
	}
}

// alone checks that the folder of path contains only path.
func alone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) && e.Name() != "victim" {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// TestCreateRemovesWhatAKilledWriterLeft: the next writer of the same file removes its temporary
// file. Those of live writers, and of other files, remain.
func TestCreateRemovesWhatAKilledWriterLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	living, err := safefile.Create(path, safefile.Options{})
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{".a.csv.KILLED.plimsoll-tmp", ".b.csv.KILLED.plimsoll-tmp", ".a.csv.plimsoll"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if err := safefile.Write(path, []byte("second"), safefile.Options{}); err != nil {
		t.Fatal(err)
	}

	want(t, path, "second")
	if _, err := living.Write([]byte("first, late")); err != nil {
		t.Fatal(err)
	}

	if err := living.Commit(); err != nil {
		t.Fatal(err)
	}

	want(t, path, "first, late")

	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}

	if want := []string{".a.csv.plimsoll", ".b.csv.KILLED.plimsoll-tmp", "a.csv"}; !slices.Equal(names, want) {
		t.Errorf("left %q, want %q", names, want)
	}
}

// TestWritersOfOneFileAtTheSameTime: each writes a complete file, and none removes another's temporary file.
func TestWritersOfOneFileAtTheSameTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	var group sync.WaitGroup

	failed := make([]error, 8)
	for i := range failed {
		group.Go(func() {
			for range 50 {
				failed[i] = errors.Join(failed[i], safefile.Write(path, []byte("whole"), safefile.Options{}))
			}
		})
	}

	group.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Error(err)
	}

	want(t, path, "whole")
	alone(t, path)
}

// A process that exits during a write leaves only the original file.
func TestAbandon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	if err := safefile.Write(path, []byte("one"), safefile.Options{}); err != nil {
		t.Fatal(err)
	}

	f, err := safefile.Create(path, safefile.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := f.Write([]byte("two")); err != nil {
		t.Fatal(err)
	}

	safefile.Abandon()
	want(t, path, "one")
	alone(t, path)

	if err := f.Commit(); err == nil {
		t.Error("what was abandoned was committed")
	}

	want(t, path, "one")
}

// Errors have the name that the user gave, never that of the temporary file.
func TestErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"..", "/", dir + "/..", "."} {
		if _, err := safefile.Create(path, safefile.Options{}); err == nil || !strings.Contains(err.Error(), path+" is a folder, not a file") {
			t.Errorf("%s: %v", path, err)
		}
	}

	path := filepath.Join(dir, "a.json")
	f, err := safefile.Create(path, safefile.Options{})
	if err != nil {
		t.Fatal(err)
	}

	safefile.Abandon() // its temporary file is gone
	if err := f.Commit(); err == nil || strings.Contains(err.Error(), "plimsoll-tmp") {
		t.Errorf("committed with %v", err)
	}

	if _, err := f.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), path+":") || strings.Contains(err.Error(), "plimsoll-tmp") {
		t.Errorf("written with %v", err)
	}
}
