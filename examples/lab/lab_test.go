package lab_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	lab "plimsoll/examples/lab"
	"plimsoll/internal/lab/table"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/markdown"
	"plimsoll/internal/present/results"
)

var update = flag.Bool("update", false, "write the table into docs/models.md")

// The table stands in docs/models.md between these.
const (
	page  = "../../docs/models.md"
	begin = "<!-- the error table: go test ./examples/lab -update -->\n"
	end   = "<!-- end of it -->\n"
)

// compared are the measurements next to what the current models predict.
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

// What the page says is what the models come to now, and the error bar that every prediction
// carries is the table's. A model that gets worse fails here.
func TestErrorTable(t *testing.T) {
	suite, rows := compared(t)
	var b bytes.Buffer
	b.WriteString(markdown.Tables(results.ErrorRows(rows), results.ErrorSummary(table.Summarise(rows))))
	b.WriteString("\nPublished advice, tried:\n\n" + markdown.Tables(results.AdviceTable(suite.Verdicts(rows))))

	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	before, rest, ok := bytes.Cut(text, []byte(begin))
	was, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}

	if want := append([]byte("\n"), append(b.Bytes(), '\n')...); !bytes.Equal(was, want) {
		if !*update {
			t.Errorf("%s is not what the models come to: go test ./examples/lab -update\n%s", page, want)
		} else if err := os.WriteFile(page, bytes.Join([][]byte{before, []byte(begin), want, []byte(end), after}, nil), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	for _, s := range table.Summarise(rows) {
		said := simulate.AccuracyOf(s.Kind)
		// The bar may be wider, but not narrower: a server's runs are further off (examples/mongod), and
		// so are repeated runs of one scenario.
		if said.Median < s.Off-0.011 || said.Median > s.Off+0.2 || said.Worst < 0.95*s.Worst || said.Worst > 2*s.Worst {
			t.Errorf("%s: simulate.AccuracyOf says %.2f and %.1f, the table %.3f and %.2f", s.Kind, said.Median, said.Worst, s.Off, s.Worst)
		}
	}
}
