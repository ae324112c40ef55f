package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNewRule(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"internal/engine/postgres/judge/testdata", "internal/judge/corerules/testdata", "docs/rules"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for id, want := range map[string][]string{
		"postgres/short-timeout": {"internal/engine/postgres/judge/short_timeout.go", "shortTimeout() in internal/engine/postgres/judge/judge.go"},
		"disk/too-warm":          {"internal/judge/corerules/disk_too_warm.go", "diskTooWarm() in internal/judge/corerules/pack.go"},
	} {
		var out bytes.Buffer
		if err := write(root, id, &out); err != nil {
			t.Fatal(err)
		}
		for _, w := range append(want, strings.ReplaceAll(id, "/", "-")+".test", strings.ReplaceAll(id, "/", "-")+".md") {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%s: %q is missing in\n%s", id, w, &out)
			}
		}
		if _, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, want[0]), nil, parser.AllErrors); err != nil {
			t.Error(err)
		}
		if err := write(root, id, &out); err == nil || !strings.Contains(err.Error(), "exists already") {
			t.Errorf("%s again: %v", id, err)
		}
	}

	for _, id := range []string{"", "postgres", "postgres/", "Postgres/x", "postgres/../x", "a/b/c"} {
		if err := write(root, id, &bytes.Buffer{}); err == nil {
			t.Errorf("%q is a rule's name", id)
		}
	}
}
