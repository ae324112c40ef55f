//go:build linux

package buckets

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"plimsoll/internal/base/units"
)

// JSON implements lab.BucketResult.
func (r *Result) JSON() any {
	return map[string]any{"buckets": r, "corrections": Corrections()}
}

// Text implements lab.BucketResult.
func (r *Result) Text(paragraph func(prefix, text string) string) string {
	var page strings.Builder
	fmt.Fprintf(&page, "Buckets in %s on %s; a reading of %s each %s\n\n", r.Server, strings.Join(r.Volume, "; "), Entry.Exact(), Interval.Std())
	rows := func(head string, cells func(*Row) []string) {
		t := tabwriter.NewWriter(&page, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, head+"\t")
		for i := range r.Rows {
			if all := cells(&r.Rows[i]); all != nil {
				fmt.Fprintln(t, strings.Join(append([]string{span(&r.Rows[i])}, all...), "\t")+"\t")
			}
		}
		_ = t.Flush() // to memory
		page.WriteByte('\n')
	}
	rows("BUCKET\twritten\tdocument\tpush, p50 / p99: first\thalf\tfull\tpublished", pushCells)
	rows("BUCKET\twritten\tto the volume a push: first\thalf\tfull\twrites a push, full\tpushes/s", volumeCells)
	last := 0
	rows("BUCKET\tdocuments a day\tstorage a day\tpublished\ta day of one sensor reads\tat a leaf each", func(row *Row) []string {
		if row.Entries == last {
			return nil // by the day it is the same, however pushes are written
		}
		last = row.Entries
		return dayCells(row)
	})
	for _, note := range r.Notes {
		page.WriteString(paragraph("- ", note))
	}
	page.WriteByte('\n')
	page.WriteString(paragraph("", "Published is case 4's (plimsoll casebook bucket-granularity), on hardware that it does not tell. What is wrong in it:"))
	for _, c := range Corrections() {
		page.WriteString(paragraph("- ", c))
	}
	return page.String()
}

func pushCells(row *Row) []string {
	said := "-"
	if p := row.Published; p != nil {
		said = fmt.Sprintf("%s at %d", units.Seconds(p.Push), p.PushEntries)
	}
	return []string{row.Written(), units.Bytes(float64(row.DocumentBytes)), pushText(row, "first"), pushText(row, "half"), pushText(row, "full"), said}
}

func volumeCells(row *Row) []string {
	requests := "-"
	if f := fillOf(row, "full"); f != nil {
		requests = units.Number(f.Requests)
	}
	return []string{row.Written(), bytesText(row, "first"), bytesText(row, "half"), bytesText(row, "full"), requests, units.Number(row.PushesPerSecond)}
}

func dayCells(row *Row) []string {
	said := "-"
	if p := row.Published; p != nil && p.StoragePerDay > 0 {
		said = units.Bytes(float64(p.StoragePerDay))
	}
	return []string{units.Count(row.DocumentsPerDay), units.Bytes(row.StoragePerDay), said, units.Count(row.DayDocuments) + " documents", units.Bytes(float64(row.DayBytes))}
}

// span is what a bucket spans: "5 min".
func span(row *Row) string {
	if s := int(row.SpanSeconds); s%60 == 0 {
		return strconv.Itoa(s/60) + " min"
	}
	return units.Seconds(row.SpanSeconds)
}

func fillOf(row *Row, name string) *Fill {
	for i := range row.Fills {
		if row.Fills[i].Name == name {
			return &row.Fills[i]
		}
	}
	return nil
}

func pushText(row *Row, fill string) string {
	f := fillOf(row, fill)
	if f == nil {
		return "-"
	}
	return units.Seconds(f.P50) + " / " + units.Seconds(f.P99)
}

func bytesText(row *Row, fill string) string {
	f := fillOf(row, fill)
	if f == nil {
		return "-"
	}
	return units.Bytes(f.PerPush)
}
