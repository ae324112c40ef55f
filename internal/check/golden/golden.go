// Package golden compares text with a file that a person has read and committed. It is for results
// that are easier to read than to assert.
//
// `go test ./some/package -update` rewrites the files. Read the change in git's diff before you
// commit it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A T is a test or a benchmark.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Compare fails the test if the text differs from testdata/name.
func Compare(t T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}

	if string(want) != got {
		t.Errorf("%s differs (-update rewrites it):\n%s", path, got)
	}
}

// Inline fails the test if the text differs from want, which begins on the line after its opening
// quote. It is for texts of a few lines, which explain a test best next to their input.
func Inline(t T, got, want string) {
	t.Helper()
	if "\n"+got != want {
		t.Errorf("got:\n%s\nwant:%s", got, want)
	}
}
