package examples

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	page "plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/text"
	"plimsoll/internal/testkit"
)

// A tired user sees what to do on the first screen: the command that changes something starts
// within the first rows of a terminal with 80 columns.
func TestFirstActionOnFirstScreen(t *testing.T) {
	r := diagnosis(t, "postgres-checkpoint")
	var b bytes.Buffer
	if err := text.Write(&b, page.Document(r, page.Options{Pack: testkit.Pack()}), text.Options{}); err != nil {
		t.Fatal(err)
	}

	row := 0
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "   run ") {
			break
		}
		row += max(1, (len([]rune(strings.TrimSuffix(line, "\n")))+79)/80)
	}

	const screen = 24 // rows of a terminal; the look step, which saves what undo needs, takes half of them
	if row >= screen {
		t.Errorf("the first command is on row %d:\n%s", row+1, b.String())
	}

	first := r.Actions[0]
	if first.Remedy != "pace-checkpoint" || first.Restart != "" || first.Money != "" || len(first.Undo) == 0 || len(first.Check) == 0 {
		t.Errorf("%+v", first)
	}

	if !slices.ContainsFunc(first.Prove, func(s string) bool { return strings.Contains(s, "--before-to 2026-11-21T03:16:19Z") }) {
		t.Errorf("the times are not filled in: %q", first.Prove)
	}
}
