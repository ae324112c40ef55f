package mongod_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"plimsoll/examples/mongod"
	"plimsoll/internal/lab/table"
	"plimsoll/internal/present/markdown"
	"plimsoll/internal/present/results"
)

var update = flag.Bool("update", false, "write the tables into docs/models.md and docs/research/model-errors.md")

// Every row is on one page, the summary on the other, between these.
const (
	rowsPage    = "../../docs/research/model-errors.md"
	summaryPage = "../../docs/models.md"
	begin       = "<!-- the server's error table: go test ./examples/mongod -update -->\n"
	end         = "<!-- end of the server's -->\n"
)

// bounds are the factors within which the rows that count must stay: the median of each kind, and
// the worst.
var bounds = map[table.Kind]struct{ middle, worst float64 }{
	table.Rate:     {1.02, 1.06},
	table.Duration: {1.2, 1.6},
	table.P50:      {1.2, 1.3},
	table.P99:      {1.3, 3},
}

// worstP99 limits the error of the p99 of all writes, which most users ask for.
const worstP99 = 2.0

func rows(t *testing.T) []table.Row {
	t.Helper()
	suite, err := table.ReadSuite(mongod.Files)
	if err != nil {
		t.Fatal(err)
	}
	measured, err := table.ReadMeasured(mongod.Files, mongod.MeasuredFile)
	if err != nil {
		t.Fatal(err)
	}
	out, err := suite.Compare(t.Context(), mongod.Files, measured, language)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The model of a server is as close to the real one as docs/models.md says.
func TestServer(t *testing.T) {
	of := rows(t)
	for _, r := range of {
		if r.Figure == "write p99" && !r.Doubtful && r.Off() > worstP99 {
			t.Errorf("%s: p99 %s, measured %s: off by a factor of %.1f", r.Scenario, r.ModelText(), r.LabText(), r.Off())
		}
	}

	for _, s := range table.Summarise(of) {
		if b := bounds[s.Kind]; s.Off > b.middle || s.Worst > b.worst {
			t.Errorf("%s: off by %.2f in the middle and %.2f at worst; the bounds are %.2f and %.2f", s.Kind, s.Off, s.Worst, b.middle, b.worst)
		}
	}

	compare(t, rowsPage, markdown.Tables(results.ErrorRows(of)))
	compare(t, summaryPage, markdown.Tables(results.ErrorSummary(table.Summarise(of))))
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
		t.Errorf("%s is not what the model comes to: go test ./examples/mongod -update\n%s", page, want)
	default:
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
