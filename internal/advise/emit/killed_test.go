//go:build unix

package emit

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/safefile"
)

// envWriter makes the test binary a writer that is killed, see TestFolderKilled.
const envWriter = "EMIT_TEST_WRITER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envWriter); dir != "" {
		for n := 0; ; n++ {
			f, err := OpenFolder(dir)
			if err == nil {
				err = f.Write(layoutN(n), false)
			}
			fmt.Println(n, err)
		}
	}
	os.Exit(m.Run())
}

// layoutN are the files of one of two layouts, which share some.
func layoutN(n int) []File {
	files := []File{{"README.md", fmt.Appendf(nil, "layout %d\n", n%2), plain}, {"aws/volumes.sh", []byte("#!/bin/bash\n"), executable}}
	for k := range 5 {
		files = append(files, File{fmt.Sprintf("of-%d/%d.conf", n%2, k), fmt.Appendf(nil, "x = %d\n", n%2), plain})
	}
	return files
}

// A writer is killed at random times. Every file is complete, foreign files and all modes are
// unchanged, and the next run completes the write and removes the leftovers.
func TestFolderKilled(t *testing.T) {
	times := 4
	if os.Getenv("CI_FULL") != "" {
		times = 50
	}

	dir := filepath.Join(t.TempDir(), "layout")
	for _, err := range []error{
		os.Mkdir(dir, 0o700), open(t, dir).Write(layoutN(0), false),
		os.Mkdir(filepath.Join(dir, "mine"), 0o700), os.Chmod(filepath.Join(dir, "README.md"), 0o640),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	put(t, filepath.Join(dir, "notes.txt"), "mine")
	put(t, filepath.Join(dir, "of-0/notes.txt"), "mine")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)

	chance := rand.New(rand.NewPCG(seed, 0))
	for n := range times {
		killWriter(t, dir, time.Duration(chance.IntN(30_000))*time.Microsecond)
		for name, text := range tree(t, dir) {
			if safefile.IsLeftover(filepath.Base(name)) || name == manifestName {
				continue
			}
			if want := wholeFile(name); text != want[0] && text != want[1] {
				t.Errorf("%s is %q", name, text)
			}
		}

		f := open(t, dir)
		if edited := f.Edited(layoutN(n)); len(edited) > 0 {
			t.Errorf("taken for edited: %q", edited)
		}

		if err := f.Write(layoutN(n), false); err != nil {
			t.Fatal(err)
		}

		if got := tree(t, dir); len(got) != len(layoutN(n))+3 || got["notes.txt"] != "mine" || got["of-0/notes.txt"] != "mine" {
			t.Errorf("the folder is %v", got)
		}

		for name, want := range map[string]os.FileMode{".": 0o700, "mine": 0o700, "README.md": 0o640, "notes.txt": 0o600, "aws/volumes.sh": 0o755} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}

		if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
			t.Errorf("beside it are %v, %v", entries, err)
		}
	}
}

// wholeFile reports whether a file's contents are complete.
func wholeFile(name string) (texts [2]string) {
	if strings.HasSuffix(name, "notes.txt") {
		return [2]string{"mine", "mine"}
	}
	for n := range texts {
		for _, f := range layoutN(n) {
			if f.Path == name {
				texts[n] = string(f.Text)
			}
		}
	}
	return texts
}

// killWriter runs the writer for a while after it has begun.
func killWriter(t *testing.T, dir string, after time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envWriter+"="+dir)

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Error("the writer wrote nothing")
	}

	kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()

	for ok := true; ok; ok = lines.Scan() {
		if !strings.HasSuffix(lines.Text(), " <nil>") {
			t.Errorf("the writer: %s", lines.Text())
			_ = cmd.Process.Kill()
		}
	}

	_ = cmd.Wait()
}

// If the first write to a new folder is killed before its manifest exists, the next run must not
// treat the folder as foreign.
func TestFirstWriteKilled(t *testing.T) {
	dir := t.TempDir()
	left := "." + manifestName + ".ABCDEFGHIJKLMNOPQRSTUVWXYZ.plimsoll-tmp"
	put(t, filepath.Join(dir, left), "{")
	if err := open(t, dir).Write(layoutN(0), false); err != nil {
		t.Fatal(err)
	}
	if _, left := tree(t, dir)[left]; left {
		t.Error("the killed write's file is left")
	}
}

// An error in the middle restores the original files with their modes, and removes no foreign
// folder.
func TestFolderAfterAnError(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir).Write(layoutN(0), false); err != nil {
		t.Fatal(err)
	}

	before := tree(t, dir)
	if err := os.Chmod(filepath.Join(dir, "README.md"), 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.MkdirAll(filepath.Join(dir, "of-1/4.conf"), 0o700); err != nil { // where a file is to be
		t.Fatal(err)
	}

	if err := open(t, dir).Write(layoutN(1), true); err == nil {
		t.Fatal("a file was written over a folder")
	}

	after := tree(t, dir)
	if len(after) != len(before) {
		t.Errorf("the folder is %v, it was %v", after, before)
	}

	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s is %q, it was %q", name, after[name], text)
		}
	}

	for name, want := range map[string]os.FileMode{"README.md": 0o600, "of-1/4.conf": 0o700, "aws/volumes.sh": 0o755} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// A folder inside it that is a symbolic link points elsewhere, so nothing is written there.
func TestFolderWithALinkInIt(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	f := open(t, dir)
	if err := os.Symlink(elsewhere, filepath.Join(dir, "aws")); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(layoutN(0), true); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("written through a link: %v", err)
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("elsewhere are %v, %v", entries, err)
	}
}
