package recognise

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/record/source"
)

// fakeSadf puts a fake sadf first in PATH.
func fakeSadf(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sadf"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// A binary file of sar is read through sadf, each time it is opened.
func TestSadf(t *testing.T) {
	fakeSadf(t, `echo "{\"sysstat\": \"$1 $2\"}"`)
	got, err := sadfFile(source.File{Path: "-sa21"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := got.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || string(text) != "{\"sysstat\": \"-j ./-sa21\"}\n" {
			t.Errorf("%q, %v", text, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// If sadf refuses a file, immediately or later, the error has its message.
func TestSadfRefuses(t *testing.T) {
	fakeSadf(t, "echo 'Invalid system activity file' >&2\nexit 1\n")
	if _, err := sadfFile(source.File{Path: "sa21"}); err == nil || !strings.Contains(err.Error(), "Invalid system activity file") ||
		!strings.Contains(err.Error(), "sadf -j FILE") {
		t.Errorf("error %v, want sadf's own and the command", err)
	}

	fakeSadf(t, "echo '{'\necho 'torn' >&2\nexit 1\n")
	f, err := sadfFile(source.File{Path: "sa21"})
	if err == nil {
		var r io.ReadCloser
		if r, err = f.Open(); err == nil {
			_, err = io.ReadAll(r)
			_ = r.Close() // it has already failed
		}
	}
	if err == nil || !strings.Contains(err.Error(), "torn") {
		t.Errorf("error %v, want sadf's own", err)
	}
}

// Without a sadf, the error says how to convert the file.
func TestNoSadf(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := exec.LookPath("sadf"); err == nil {
		t.Fatal("there is a sadf in an empty folder")
	}
	if _, err := sadfFile(source.File{Path: "sa21"}); err == nil || !strings.Contains(err.Error(), "no sadf") {
		t.Errorf("error %v", err)
	}
}
