package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// manual writes the pages of the program as it is.
func manual(t *testing.T) (dir string, pages []string) {
	t.Helper()
	dir = t.TempDir()
	a, stdout, stderr := testApp("man", "--out", dir)
	a.getenv = func(name string) string { return map[string]string{"SOURCE_DATE_EPOCH": "1795273200"}[name] }
	if code := a.run(context.Background()); code != exitFine || stdout.Len()+stderr.Len() > 0 {
		t.Fatalf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	return dir, pages
}

// Each command in the help has a manual page with its usage and its flags.
func TestManualIsComplete(t *testing.T) {
	dir, pages := manual(t)
	a, _, _ := testApp()
	commands := documented(newRootCommand(a))
	if len(pages) != len(commands) || len(commands) < 15 {
		t.Errorf("%d pages for %d commands", len(pages), len(commands))
	}

	for _, c := range commands {
		text, err := os.ReadFile(filepath.Join(dir, manName(c)+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range []string{`" 1 2026-11-21 "plimsoll `, ".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH EXIT STATUS\n", roffBold("--help")} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q", manName(c), want)
			}
		}
	}
}

// roff treats a line that begins with a dot as a request; we only use those of man(7).
func TestManualHasOnlyKnownMacros(t *testing.T) {
	_, pages := manual(t)
	known := regexp.MustCompile(`^\.(TH|SH|TP|PP|BR|nf|fi|ad l|nh)( |$)`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if (strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'")) && !known.MatchString(line) {
				t.Errorf("%s: %q", filepath.Base(page), line)
			}
		}
	}

	for text, want := range map[string]string{".a -b": `\&.a \-b`, `\n`: `\en`, "'x'": `\(aqx\(aq`} {
		if got := roffText(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// groff and mandoc print no warnings about the pages.
func TestManualIsFormatted(t *testing.T) {
	_, pages := manual(t)
	asked := false
	for _, tool := range [][]string{{"groff", "-man", "-ww", "-Tutf8", "-Kutf8", "-z"}, {"mandoc", "-T", "lint", "-W", "warning"}} {
		if _, err := exec.LookPath(tool[0]); err != nil {
			continue
		}
		asked = true
		if out, err := exec.Command(tool[0], append(tool[1:], pages...)...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%.2000s", tool[0], err, out)
		}
	}
	if !asked {
		t.Skip("neither groff nor mandoc is installed")
	}
}
