package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The generated code compiles in the module and passes the suite for engines, without a change to
// another file.
func TestNewEngine(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "internal", "engine"), 0o755); err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	if err := write(root, "mystore", &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "enter &mystore.Engine in All of internal/engine/engine.go") {
		t.Errorf("the next step is missing in\n%s", &out)
	}
	if err := write(root, "mystore", &out); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("again: %v", err)
	}

	// The files are overlaid on the module, so that the tree stays unchanged.
	module, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	const folder = "internal/engine/mystore"
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for _, e := range entries {
		replace[filepath.Join(module, folder, e.Name())] = filepath.Join(root, folder, e.Name())
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(root, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}

	// Vet and the tests themselves require a folder that exists, so the tests are only compiled here.
	suite := filepath.Join(root, "suite")
	compile := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", suite, "./"+folder)
	compile.Dir = module
	if got, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}

	run := exec.CommandContext(t.Context(), suite, "-test.v")
	run.Dir = root
	got, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	for _, want := range []string{"--- PASS: TestContract/slow", "--- PASS: TestScenario"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

// Names that are not valid for a package are refused, and nothing is written.
func TestNewEngineNames(t *testing.T) {
	for _, name := range []string{"", "My", "my-store", "../x", "9lives", "a/b"} {
		if err := write(t.TempDir(), name, &bytes.Buffer{}); err == nil {
			t.Errorf("%q is an engine's name", name)
		}
	}
}
