package results

import (
	"strings"
	"testing"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/lab/table"
	"plimsoll/internal/present/markdown"
)

func TestErrorTable(t *testing.T) {
	row := func(figure string, lab, model float64) table.Row {
		return table.Row{Scenario: "s", Figure: figure, Unit: "seconds", Kind: table.P99, Lab: &lab, LabLow: lab, LabHigh: 1.5 * lab, LabRuns: 3, Model: &model}
	}
	rows := []table.Row{row("write p99", 2, 2), row("write p99 in a checkpoint", 8, 1)}
	rows[1].Doubtful = true
	advice := []table.Verdict{{Advice: table.Advice{Says: "less of it", Figure: "f"}, Holds: table.Better, Before: &table.Row{Lab: rows[0].Lab, Unit: "seconds"}}}
	var b strings.Builder
	if err := markdown.Write(&b, ErrorTable(rows, advice)); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "errors.golden", b.String())
}
