package recording

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// t0 is the time of the suite's first sample.
var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// The suite's counter runs for ten minutes, with a gap of one minute.
const (
	feedSeconds = 600
	gapFrom     = 200 // last sample before the gap at 199 s
	gapTo       = 260 // first one after it
)

func named(name string, kv ...string) labels.Labels {
	return labels.FromStrings(append([]string{labels.MetricName, name}, kv...)...)
}

func second(s float64) time.Time { return t0.Add(time.Duration(math.Round(s*1000)) * time.Millisecond) }

// feed appends the suite's samples to w.
func feed(t testing.TB, w Writer) {
	t.Helper()
	w.Source(Source{Kind: "ftdc", Name: "suite", Engine: "mongodb", From: t0, To: second(feedSeconds - 1), Period: time.Second, Samples: feedSeconds - 60})
	w.Note(Note{Kind: NoteGap, Source: "suite", From: second(gapFrom - 1), To: second(gapTo), Text: "a minute is missing"})

	for at := 0; at < feedSeconds; {
		n := min(70, feedSeconds-at) // some batches make segments, others collect in tails
		if at < gapFrom {
			n = min(n, gapFrom-at)
		}
		feedBatch(t, w, at, n)
		if at += n; at == gapFrom {
			at = gapTo
		}
	}

	// Samples not newer than the last are dropped.
	late := Batch{TimesMs: []int64{second(590).UnixMilli(), second(598).UnixMilli()},
		Columns: []Column{{named("c_total", "device", "a"), []float64{1e9}}}}
	if err := w.Append(t.Context(), &late); err != nil {
		t.Fatal(err)
	}

	fast := Batch{Columns: []Column{{Labels: named("fast_total")}}}
	for k := range 600 {
		fast.TimesMs = append(fast.TimesMs, second(float64(k)/10).UnixMilli())
		fast.Columns[0].Values = append(fast.Columns[0].Values, float64(5*k))
	}

	if err := w.Append(t.Context(), &fast); err != nil {
		t.Fatal(err)
	}
}

// feedBatch appends n seconds from second at. It overwrites the batch's memory afterwards.
func feedBatch(t testing.TB, w Writer, at, n int) {
	t.Helper()
	b := Batch{Columns: []Column{
		{Labels: named("c_total", "device", "a")},
		{Labels: named("c_total", "device", "b")},
		{named("constant"), []float64{42}},
		{named("zero"), []float64{0}},
		{named("missing"), []float64{math.NaN()}},
		{Labels: named("holes")},
		{Labels: named("seconds_total")},
	}}

	for k := at; k < at+n; k++ {
		b.TimesMs = append(b.TimesMs, second(float64(k)).UnixMilli())
		hole := float64(k)
		if k%10 >= 5 {
			hole = math.NaN()
		}
		for i, v := range map[int]float64{0: float64(10 * k), 1: float64(20 * k), 5: hole, 6: float64(k) * 1234 / 1e6} {
			b.Columns[i].Values = append(b.Columns[i].Values, v)
		}
	}

	if err := w.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}

	for i := range b.TimesMs {
		b.TimesMs[i] = -1
	}

	for _, c := range b.Columns {
		for i := range c.Values {
			c.Values[i] = -1
		}
	}
}

func mustCreate(t testing.TB, dir string, opt DiskOptions) *Disk {
	t.Helper()
	d, err := Create(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustOpen(t testing.TB, dir string) Reader {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustClose(t testing.TB, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
