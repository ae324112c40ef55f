package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// An error quotes both ends of a long text.
func TestLongErrorIsShortened(t *testing.T) {
	var errs strings.Builder
	long := &failure{code: exitFailure, err: errors.New("begin " + strings.Repeat("é", 2_500_000) + " end"), hint: strings.Repeat("h", 100_000)}
	long.print(&errs, false, nil)
	text := errs.String()
	if len(text) > 2*errorBytesMax || !utf8.ValidString(text) || !strings.HasPrefix(text, "plimsoll: begin é") || !strings.Contains(text, " end\nhint: hh") || !strings.Contains(text, "bytes left out") {
		t.Errorf("%d bytes: %.200q", len(text), text)
	}
	if short := shortened("one"); short != "one" {
		t.Errorf("a short text becomes %q", short)
	}
}

// A default catalogue that cannot be read does not stop a command. One that the user named does.
func TestUnreadableHome(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	t.Setenv("XDG_CONFIG_HOME", file) // a file has no folders below it
	t.Setenv("HOME", file)

	for named, want := range map[string]int{"": exitFine, filepath.Join(file, "catalog.json"): exitFailure} {
		var errs strings.Builder
		a := newApp()
		a.args, a.stdout, a.stderr = []string{"catalog", "show", "gp3"}, stream{Writer: &strings.Builder{}}, stream{Writer: &errs}
		a.getenv = func(name string) string {
			if name == catalogVariable {
				return named
			}
			return ""
		}

		if code := a.run(t.Context()); code != want || !strings.Contains(errs.String(), "imported catalogue") {
			t.Errorf("%s=%s: code %d, %s", catalogVariable, named, code, errs.String())
		}
	}
}
