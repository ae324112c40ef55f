//go:build linux

package buckets

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// JSON implements lab.BucketResult.
func (r *Result) JSON() any {
	return map[string]any{"buckets": r, "corrections": corrections}
}

// Document implements lab.BucketResult.
func (r *Result) Document() *document.Document {
	d := &document.Document{Kind: "Buckets", Title: "Cost of bucket documents",
		Verdict: fmt.Sprintf("Buckets in %s on %s; a reading of %s every %s", r.Server,
			strings.Join(r.Volume, "; "), Entry.Exact(), Interval.Std())}
	for _, n := range r.Notes {
		d.Lead = append(d.Lead, document.Sentence(n))
	}

	last := 0
	d.Sections = []document.Section{
		r.section("pushes", "Pushes",
			pushCells, "passed as", "document", "p50 / p99: first", "half", "full", "published"),
		r.section("volume", "To the volume",
			volumeCells, "passed as", "per push: first", "half", "full", "writes per push, full", "pushes/s"),
		r.section("day", "Per day", func(row *Row) []string {
			if row.Entries == last {
				return nil // it does not depend on how pushes are passed
			}
			last = row.Entries
			return dayCells(row)
		}, "documents", "storage", "published", "a day of one sensor reads", "with a leaf each"),
	}

	published := document.Section{ID: "published", Title: "Published figures", Parts: []document.Part{
		{Text: "The published figures are those of case 4 (plimsoll casebook bucket-granularity), on hardware that the case does not specify. Errors in it:"}}}
	for _, c := range corrections {
		published.Parts = append(published.Parts, document.Part{Text: "- " + c})
	}

	d.Sections = append(d.Sections, published)
	return d
}

// section is a table with a row for each bucket that has cells.
func (r *Result) section(id, title string, cells func(*Row) []string, heads ...string) document.Section {
	tab := &document.Table{Caption: title, Columns: []document.Column{{Text: "bucket", Number: true}}}
	for _, head := range heads {
		tab.Columns = append(tab.Columns, document.Column{Text: head, Number: true})
	}

	for i := range r.Rows {
		all := cells(&r.Rows[i])
		if all == nil {
			continue
		}
		row := []document.Cell{{Text: span(&r.Rows[i]), Number: true}}
		for _, text := range all {
			row = append(row, document.Cell{Text: text, Number: true})
		}
		tab.Rows = append(tab.Rows, row)
	}

	return document.Section{ID: id, Title: title, Parts: []document.Part{{Table: tab}}}
}

func pushCells(row *Row) []string {
	said := "–"
	if p := row.Published; p != nil {
		said = fmt.Sprintf("%s at %d", units.Seconds(p.Push), p.PushEntries)
	}
	took := func(f *Fill) string { return units.Seconds(f.P50) + " / " + units.Seconds(f.P99) }
	return []string{row.Written(), units.Bytes(float64(row.DocumentBytes)), fillText(row, "first", took),
		fillText(row, "half", took), fillText(row, "full", took), said}
}

func volumeCells(row *Row) []string {
	bytes := func(f *Fill) string { return units.Bytes(f.PerPush) }
	requests := func(f *Fill) string { return units.Number(f.Requests) }
	return []string{row.Written(), fillText(row, "first", bytes), fillText(row, "half", bytes),
		fillText(row, "full", bytes), fillText(row, "full", requests), units.Number(row.PushesPerSecond)}
}

func dayCells(row *Row) []string {
	said := "–"
	if p := row.Published; p != nil && p.StoragePerDay > 0 {
		said = units.Bytes(float64(p.StoragePerDay))
	}
	return []string{units.Count(row.DocumentsPerDay), units.Bytes(row.StoragePerDay), said,
		units.Count(row.DayDocuments) + " documents", units.Bytes(float64(row.DayBytes))}
}

// span is the time that a bucket covers: "5 min".
func span(row *Row) string {
	if s := int(row.SpanSeconds); s%60 == 0 {
		return strconv.Itoa(s/60) + " min"
	}
	return units.Seconds(row.SpanSeconds)
}

// fillText formats one of a row's fills.
func fillText(row *Row, name string, text func(*Fill) string) string {
	for i := range row.Fills {
		if row.Fills[i].Name == name {
			return text(&row.Fills[i])
		}
	}
	return "–"
}
