package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const source = `// Package a has one idea.
package a

import "example.org/a/long/path"

// Why says why.
const why = "the volume has no room " +
	"for another write"

func f() error {
	return errorf("cannot open %s: permission denied", "a b")
}
`

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A sentence of the mirror is on the line that it has in the code: literals joined with + on the
// line of the first, and neither imports nor short strings.
func TestMirror(t *testing.T) {
	found, err := read(write(t, "a.go", source))
	if err != nil {
		t.Fatal(err)
	}

	got := strings.Split(placed(found), "\n")
	want := map[int]string{
		1: "Package a has one idea.", 6: "Why says why.",
		7: "the volume has no room for another write", 11: "cannot open %s: permission denied",
	}

	for i, line := range got {
		if line != want[i+1] {
			t.Errorf("line %d: %q, want %q", i+1, line, want[i+1])
		}
	}
}

// The strings of tests are inputs and expectations; only their comments are sentences.
func TestTestFilesHaveCommentsOnly(t *testing.T) {
	found, err := read(write(t, "a_test.go", source))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 {
		t.Errorf("got %d sentences, want the two comments: %v", len(found), found)
	}
}

// Vale's rule is what CONTRIBUTING.md's table says.
func TestVocabularyIsCurrent(t *testing.T) {
	t.Chdir("../../..")
	fresh := filepath.Join(t.TempDir(), "Dialect.yml")
	if err := vocabulary("CONTRIBUTING.md", fresh); err != nil {
		t.Fatal(err)
	}

	want, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}

	got, err := os.ReadFile("tools/vale/styles/Plimsoll/Dialect.yml")
	if err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(got, want) {
		t.Error("tools/vale/styles/Plimsoll/Dialect.yml is not of CONTRIBUTING.md's table: make generate")
	}
}
