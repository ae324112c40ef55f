package results

import (
	"strings"
	"testing"
)

// Evidence names the decisive lines of the scenario, and links to them.
func TestEvidenceNamesLines(t *testing.T) {
	g := newLedger(Origin{File: "s.yaml", Text: []byte("\ufeff# volumes:\nplimsoll: 1\nengine:\n  iris: {}\n  data: no volume\nvolumes: # of both\n\n  wal: {type: gp3}\n# a word\n  data:\n    type: gp3\nworkload: {}\n")})
	for path, want := range map[string]string{"engine": "s.yaml:3", "volumes": "s.yaml:6", "volumes.wal": "s.yaml:8", "volumes.data": "s.yaml:10", "volumes.none": "s.yaml:6", "workload": "s.yaml:12", "host": ""} {
		got := ""
		for _, c := range g.where(path) {
			if got = c.Text; c.Href != "#line"+strings.TrimPrefix(got, "s.yaml:") {
				t.Errorf("%s leads to %s", got, c.Href)
			}
		}
		if got != want {
			t.Errorf("%s stands at %q, want %q", path, got, want)
		}
	}

	long := newLedger(Origin{File: "s.yaml", Text: []byte(strings.Repeat("a: "+strings.Repeat("x", 2*lineBytesMax)+"\n", 2*linesMax))})
	if lines := long.lines(); len(lines) != linesMax || len(lines[0]) > lineBytesMax+3 {
		t.Errorf("of a long scenario %d lines are shown, the first of %d bytes", len(lines), len(lines[0]))
	}
}
