package lab_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	lab "plimsoll/examples/lab"
	"plimsoll/internal/lab/table"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/markdown"
	"plimsoll/internal/present/results"
)

var update = flag.Bool("update", false, "write the tables into docs/models.md and docs/research/model-errors.md")

// Every row is on one page, the summary on the other, between these.
const (
	rowsPage    = "../../docs/research/model-errors.md"
	summaryPage = "../../docs/models.md"
	begin       = "<!-- the error table: go test ./examples/lab -update -->\n"
	end         = "<!-- end of it -->\n"
)

// compared returns the measurements with the current models' predictions.
func compared(t *testing.T) (*table.Suite, []table.Row) {
	t.Helper()
	suite, err := table.ReadSuite(lab.Files)
	if err != nil {
		t.Fatal(err)
	}
	measured, err := table.ReadMeasured(lab.Files, lab.MeasuredFile)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := suite.Compare(t.Context(), lab.Files, measured, language)
	if err != nil {
		t.Fatal(err)
	}
	return suite, rows
}

// The page has the current models' figures, and the error bar of every prediction is the table's. A
// model that gets worse fails here.
func TestErrorTable(t *testing.T) {
	suite, rows := compared(t)
	compare(t, rowsPage, markdown.Tables(results.ErrorRows(rows)))
	compare(t, summaryPage, markdown.Tables(results.ErrorSummary(table.Summarise(rows)))+
		"\nPublished advice, tried:\n\n"+markdown.Tables(results.AdviceTable(suite.Verdicts(rows))))

	for _, s := range table.Summarise(rows) {
		said := simulate.AccuracyOf(s.Kind)
		// The error bar may be wider, but not narrower: a server's runs are further off
		// (examples/mongod), and so are repeated runs of one scenario.
		if said.Median < s.Off-0.011 || said.Median > s.Off+0.2 || said.Worst < 0.95*s.Worst || said.Worst > 2*s.Worst {
			t.Errorf("%s: simulate.AccuracyOf says %.2f and %.1f, the table %.3f and %.2f", s.Kind, said.Median, said.Worst, s.Off, s.Worst)
		}
	}
}

// compare compares a page's text between the marks, or updates it.
func compare(t *testing.T, page, tables string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	before, rest, ok := strings.Cut(string(text), begin)
	was, after, ok2 := strings.Cut(rest, end)
	want := "\n" + tables + "\n"
	switch {
	case !ok || !ok2:
		t.Fatalf("%s has no place for the table", page)
	case was == want:
	case !*update:
		t.Errorf("%s is not what the models come to: go test ./examples/lab -update\n%s", page, want)
	default:
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
