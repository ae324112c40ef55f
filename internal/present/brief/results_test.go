package brief_test

import (
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/present/brief"
	"plimsoll/internal/present/results"
	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

// The first screen of a trace fits, and has the headline, a table, a picture and the next command.
func TestScreenOfTraces(t *testing.T) {
	files, err := filepath.Glob("../../trace/chain/testdata/*.trace")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d traces: %v", len(files), err)
	}

	for _, file := range files {
		h, b, err := events.LoadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		_, out := screen(results.Trace(chain.Replay(h, b)))
		if n := strings.Count(out, "\n"); n > brief.Lines {
			t.Errorf("%s: %d lines, at most %d are shown", file, n, brief.Lines)
		}
		for _, want := range []string{"took over 20.0 ms", "WHAT BLOCKED THE CALLS", "█", "plimsoll diagnose host --trace auto"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q on the first screen:\n%s", file, want, out)
			}
		}
	}
}
