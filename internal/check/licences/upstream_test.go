package main

import (
	"os"
	"strings"
	"testing"
)

// TestUpstream finds workarounds whose library has been upgraded since: the defect may be fixed.
func TestUpstream(t *testing.T) {
	modules, err := linked(root)
	if err != nil {
		t.Fatalf("cannot list the modules: %v", err)
	}

	versions := map[string]string{}
	for _, m := range modules {
		versions[m.Path] = m.Version
	}

	text, err := os.ReadFile(root + "/docs/internals/upstream.md")
	if err != nil {
		t.Fatal(err)
	}

	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		if len(cells) < 4 || !strings.Contains(cells[0], ".") {
			continue
		}

		rows++
		module := strings.TrimPrefix(cells[0], "| ")
		if versions[module] != cells[1] {
			t.Errorf("%s is now %q: try whether %q still has the defect %q", module, versions[module], cells[1], cells[2])
		}
	}

	if rows < 5 {
		t.Errorf("%d rows: does the table have another form?", rows)
	}
}
