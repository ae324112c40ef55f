package text

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/present/document"
)

// volumes is a table of words and numbers, with columns that a narrow page may drop.
func volumes() *document.Table {
	return &document.Table{
		Columns: []document.Column{
			{Text: "volume"},
			{Text: "IO/s", Number: true},
			{Text: "busiest second", Number: true, Drop: 1},
			{Text: "queue", Number: true, Drop: 2},
			{Text: "held by"},
			{Text: "never filled"},
		},
		Rows: [][]document.Cell{
			{
				{Text: "data", Note: "held back for 12.0 s in total"},
				{Text: "2,950", Number: true, Note: "+4 %"},
				number("3,000"),
				number("31.2"),
				{Text: "the volume's IOPS, then the machine's throughput"},
			},
			{{Text: "wal"}, number("180"), number("212"), number("0.4")},
		},
		Notes: []string{"Queue: mean number of requests."},
	}
}

// A table is as wide as its cells. A column in which no row has anything is omitted; a number's note is
// below the number, a word's note across the page.
func TestTable(t *testing.T) {
	draws(t, page{width: 100, indent: indent3}, func(p *page) { p.table(volumes()) }, `
   volume   IO/s  busiest second  queue  held by
   data    2,950           3,000   31.2  the volume's IOPS, then the machine's throughput
            +4 %
     held back for 12.0 s in total
   wal       180             212    0.4
   Queue: mean number of requests.
`)
}

// On a narrow page the columns go in the order of their Drop; then words wrap, because numbers cannot.
func TestTableDropsColumns(t *testing.T) {
	p := draws(t, page{width: 60, indent: indent3}, func(p *page) { p.table(volumes()) }, `
   volume   IO/s  held by
   data    2,950  the volume's IOPS, then the machine's
                  throughput
            +4 %
     held back for 12.0 s in total
   wal       180
   Queue: mean number of requests.
`)
	if !p.shortened {
		t.Error("a dropped column is not reported as omitted")
	}
	draws(t, page{width: 40, indent: indent3}, func(p *page) { p.table(volumes()) }, `
   volume   IO/s  held by
   data    2,950  the volume's IOPS,
                  then the machine's
                  throughput
            +4 %
     held back for 12.0 s in total
   wal       180
   Queue: mean number of requests.
`)
}

// A table with columns to repeat is split into pieces, each with the first columns.
func TestTableInPieces(t *testing.T) {
	tab := &document.Table{
		Repeat:  1,
		Columns: []document.Column{{Text: "figure"}},
		Rows:    [][]document.Cell{{{Text: "write p99"}}, {{Text: "read p99"}}},
	}
	for i := range 5 {
		tab.Columns = append(tab.Columns, document.Column{Text: fmt.Sprintf("variant %d", i+1), Number: true})
		for k := range tab.Rows {
			tab.Rows[k] = append(tab.Rows[k], number(fmt.Sprintf("%d.%d0 ms", i+1, k)))
		}
	}
	p := draws(t, page{width: 40, indent: indent3}, func(p *page) { p.table(tab) }, `
   figure     variant 1  variant 2
   write p99    1.00 ms    2.00 ms
   read p99     1.10 ms    2.10 ms

   figure     variant 3  variant 4
   write p99    3.00 ms    4.00 ms
   read p99     3.10 ms    4.10 ms

   figure     variant 5
   write p99    5.00 ms
   read p99     5.10 ms
`)
	if p.shortened {
		t.Error("nothing was omitted")
	}
}

// "and 1 more" would take as much room as the row, so a table of one row more than its limit is whole.
func TestTableShort(t *testing.T) {
	rows := func(n int) *document.Table {
		tab := &document.Table{Short: 2, Columns: []document.Column{{}}}
		for i := range n {
			tab.Rows = append(tab.Rows, []document.Cell{{Text: fmt.Sprint("row ", i+1)}})
		}
		return tab
	}

	for _, c := range []struct {
		rows    int
		verbose bool
		want    string
	}{
		{rows: 2, want: "row 1 row 2"},
		{rows: 3, want: "row 1 row 2 row 3"},
		{rows: 4, want: "row 1 row 2 and 2 more"},
		{rows: 1234, want: "row 1 row 2 and 1,232 more"},
		{rows: 4, verbose: true, want: "row 1 row 2 row 3 row 4"},
	} {
		p := page{width: 40, verbose: c.verbose}
		p.table(rows(c.rows))
		if got := strings.Join(strings.Fields(p.out.String()), " "); got != c.want {
			t.Errorf("%d rows, verbose %v: %q, want %q", c.rows, c.verbose, got, c.want)
		}
		if p.shortened != strings.Contains(c.want, "more") {
			t.Errorf("%d rows, verbose %v: shortened is %v", c.rows, c.verbose, p.shortened)
		}
	}
}

// Details are only for a verbose page; bars are narrowed before words are.
func TestTableCells(t *testing.T) {
	tab := &document.Table{
		Columns: []document.Column{{Text: "where"}, {Text: "slowest 1 %"}, {Text: "share", Number: true}},
		Rows: [][]document.Cell{
			{
				{Text: "waiting for the log"},
				{Bar: new(0.75)},
				{Text: "75 %", Number: true, Detail: "70 % to 80 %"},
			},
			{{Text: "データベース接続"}, {Bar: new(0.25)}, {Text: "25 %", Number: true, Detail: "20 % to 30 %"}},
			{{Text: "bad", Roles: "word bad"}, {Text: "no bar"}}},
	}
	draws(t, page{width: 80, indent: indent3}, func(p *page) { p.table(tab) }, `
   where                slowest 1 %           share
   waiting for the log  ███████████████        75 %
   データベース接続     █████                  25 %
   bad                  no bar
`)
	draws(t, page{width: 44, indent: indent3, verbose: true, ascii: true}, func(p *page) { p.table(tab) }, `
   where                     slowest   share
                             1 %
   waiting for the log       ######     75 %
     share 70 % to 80 %
   \u30c7\u30fc\u30bf\u30d9  ##         25 %
   \u30fc\u30b9\u63a5\u7d9a
     share 20 % to 30 %
   bad                       no bar
`)

	p := page{width: 80, color: true}
	p.table(tab)
	if got := p.out.String(); !strings.Contains(got, "\x1b[1;31mbad\x1b[0m") {
		t.Errorf("a bad cell is not red: %q", got)
	}
}

// A table without rows shows its headings: an empty result is still a result.
func TestTableWithoutRows(t *testing.T) {
	draws(t, page{width: 40}, func(p *page) {
		p.table(&document.Table{Columns: []document.Column{{Text: "rule"}, {Text: "seconds", Number: true}}})
	}, `
rule  seconds
`)
}

// No table is wider than its page, whatever its cells are, if its columns fit at their smallest widths. No
// row and no number is lost unless a mark says so.
func TestTableFits(t *testing.T) {
	word := rapid.SampledFrom(
		[]string{
			"",
			"a",
			"latency",
			"データ",
			"a_name_without_spaces_of_forty_columns__",
			"two words",
			"e\u0301tat",
			"\x1b[31mred",
			"12.0 min",
		},
	)
	rapid.Check(t, func(r *rapid.T) {
		width := rapid.IntRange(widthMin, 200).Draw(r, "width")
		n := rapid.IntRange(1, 4).Draw(r, "columns") // of eight columns each, with gaps: 40
		tab := &document.Table{}
		for range n {
			tab.Columns = append(
				tab.Columns,
				document.Column{
					Text:   word.Draw(r, "heading"),
					Number: rapid.Bool().Draw(r, "number"),
					Drop:   rapid.IntRange(0, 2).Draw(r, "drop"),
				},
			)
		}
		for range rapid.IntRange(0, 3).Draw(r, "rows") {
			var row []document.Cell
			for range rapid.IntRange(0, n).Draw(r, "cells") {
				row = append(row, document.Cell{Text: word.Draw(r, "text"), Note: word.Draw(r, "note")})
			}
			tab.Rows = append(tab.Rows, row)
		}

		p := &page{width: width, color: rapid.Bool().Draw(r, "color"), ascii: rapid.Bool().Draw(r, "ascii")}
		p.table(tab)
		for line := range strings.Lines(p.out.String()) {
			if got := columns(strings.TrimSuffix(line, "\n")); got > width {
				r.Fatalf("a line of %d columns on a page of %d: %q", got, width, line)
			}
		}
		if got := strings.Count(p.out.String(), "\n"); got < len(tab.Rows) {
			r.Fatalf("%d rows in %d lines", len(tab.Rows), got)
		}
	})
}
