package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sample is a package with each way to end.
const sample = `package sample

import "testing"

func TestPasses(t *testing.T) { t.Log("not shown") }
func TestFails(t *testing.T)  { t.Error("shown") }

func TestSkips(t *testing.T) {
	t.Run("a", func(t *testing.T) { t.Skip("no mongod on port 27017") })
	t.Run("b", func(t *testing.T) { t.Skip("no mongod on port 27018") })
	t.Run("c", func(t *testing.T) { t.SkipNow() })
}
`

// TestRead runs the real go command on a package with each way to end.
func TestRead(t *testing.T) {
	s, shown := ran(t, sample)
	s.print(shown)

	if !s.failed || s.packages != 1 || s.skipped != 3 {
		t.Errorf("failed %v, %d packages, %d skipped; want true, 1 and 3", s.failed, s.packages, s.skipped)
	}
	text := shown.String()
	for _, want := range []string{"shown", "FAIL\tsample", "1 packages, 3 tests skipped",
		"    2  no mongod on port …\n", "    1  (no reason)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "not shown") {
		t.Errorf("what a passed test printed is shown:\n%s", text)
	}
}

// TestReadBuildFailure reads a package that does not compile: its error is shown, and it counts as failed.
func TestReadBuildFailure(t *testing.T) {
	s, shown := ran(t, "package sample\n\nvar x int = nothing\n")
	if !s.failed || !strings.Contains(shown.String(), "undefined: nothing") {
		t.Errorf("failed %v, shown:\n%s", s.failed, shown.String())
	}
}

// TestReadPanic reads a package whose process ends in the middle of a test: what it printed is shown.
func TestReadPanic(t *testing.T) {
	s, shown := ran(t, "package sample\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n"+
		"func TestEnds(t *testing.T) { t.Log(\"the last words\"); os.Exit(3) }\n")
	if !s.failed || !strings.Contains(shown.String(), "the last words") {
		t.Errorf("failed %v, shown:\n%s", s.failed, shown.String())
	}
}

// TestReadCut reads the output of a go test that was killed: missing tests may have failed.
func TestReadCut(t *testing.T) {
	s, err := read(strings.NewReader(`{"Action":"pass","Package":"sample"}`+"\n"+`{"Action":"fail"}`+"\n"), io.Discard)
	if err != nil || !s.failed || s.packages != 1 {
		t.Errorf("%v: failed %v, %d packages; want true and 1", err, s.failed, s.packages)
	}
}

// ran runs the real go command on a package with one test file, and reads its output.
func ran(t *testing.T, text string) (*summary, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "go.mod", "module sample\n\ngo 1.26\n")
	write(t, dir, "sample_test.go", text)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "-vet=off", "./...")
	cmd.Dir = dir
	out, _ := cmd.Output() // its tests fail on purpose

	shown := new(bytes.Buffer)
	s, err := read(bytes.NewReader(out), shown)
	if err != nil {
		t.Fatal(err)
	}
	return s, shown
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
