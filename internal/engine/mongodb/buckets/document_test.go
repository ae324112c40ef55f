//go:build linux

package buckets

import (
	"strings"
	"testing"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/present/text"
)

func TestDocument(t *testing.T) {
	row := func(entries int, whole bool, said *Published) Row {
		n := float64(entries)
		return Row{Entries: entries, SpanSeconds: 5 * n, Whole: whole, DocumentBytes: int64(40 * entries), PushesPerSecond: 1e6 / n, DocumentsPerDay: 1e9 / int64(entries), StoragePerDay: 8e9,
			DayDocuments: int64(17280 / entries), DayBytes: 700000, Published: said,
			Fills: []Fill{{Name: "first", P50: 18e-6, P99: 86e-6, PerPush: 529, Requests: 0.1}, {Name: "full", P50: 1e-6 * n, P99: 5e-6 * n, PerPush: 4 * n, Requests: 0.2}}}
	}
	r := &Result{Server: "WiredTiger 3.2.1", Volume: []string{"3,000 IOPS, 125 MiB/s"}, Notes: []string{"1,000 sensors instead of 10,000"},
		Rows: []Row{row(12, true, nil), row(720, true, &Published{Push: 650e-6, PushEntries: 360, StoragePerDay: 6.72e9}), row(720, false, nil)}}
	var b strings.Builder
	if err := text.Write(&b, r.Document(), text.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "document.golden", b.String())
}
