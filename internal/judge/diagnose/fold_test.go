package diagnose_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// A server ran for ten minutes in each of three months. A second of stall in the last run is reported
// at its time, the months in between count as not watched, and the plots cut them out.
func TestMonthsApart(t *testing.T) {
	const month = 30 * 86400
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	mem := recording.NewMemory(recording.MemoryOptions{})
	src := recording.Source{Kind: "ftdc", Name: "diagnostic.data", Engine: "mongodb", From: start, To: start.Add((2*month + 600) * time.Second)}

	ops, micros := 0.0, 0.0
	for run := range 3 {
		b := &recording.Batch{Columns: []recording.Column{
			{Labels: labels.FromStrings("__name__", "mongodb_ss_opLatencies_ops", "op_type", "writes")},
			{Labels: labels.FromStrings("__name__", "mongodb_ss_opLatencies_latency", "op_type", "writes")},
		}}

		for s := range 601 {
			ops += 100
			micros += 100 * 1000
			if run == 2 && s >= 300 && s < 310 {
				micros += 100 * 900_000
			}
			b.TimesMs = append(b.TimesMs, start.Add(time.Duration(run*month+s)*time.Second).UnixMilli())
			b.Columns[0].Values = append(b.Columns[0].Values, ops)
			b.Columns[1].Values = append(b.Columns[1].Values, micros)
		}

		if err := mem.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}

		if run > 0 {
			mem.Note(recording.Note{Kind: recording.NoteGap, Source: src.Name,
				From: start.Add(time.Duration((run-1)*month+600) * time.Second), To: start.Add(time.Duration(run*month) * time.Second)})
		}
	}

	mem.Source(src)
	r, err := diagnose.Run(context.Background(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	if r.Stalls.Seconds != 10 || r.Stalls.Of != 1800 || len(r.Stalls.Windows) != 1 {
		t.Fatalf("stalled %v s of %v s in %v, want 10 of 1800 in one", r.Stalls.Seconds, r.Stalls.Of, r.Stalls.Windows)
	}

	stall := start.Add((2*month + 300) * time.Second)
	if w := r.Stalls.Windows[0]; w.From.Sub(stall).Abs() > time.Second || w.To.Sub(stall.Add(10*time.Second)).Abs() > time.Second {
		t.Errorf("the stall is reported from %v to %v, want ten seconds from %v on", w.From, w.To, stall)
	}

	if !r.Span.To.Equal(src.To) {
		t.Errorf("the span ends at %v, want %v", r.Span.To, src.To)
	}

	if len(r.Runs) != 3 {
		t.Errorf("%d runs, want 3: the months between them are cut out", len(r.Runs))
	}

	for _, tr := range r.Timeline {
		// A series has a track for each run, and none in a month without samples.
		if tr.To.Sub(tr.From) > 15*time.Minute {
			t.Errorf("%s has a track from %v to %v, over a month without samples", tr.Name, tr.From, tr.To)
		}
		if end := tr.From.Add(time.Duration(tr.StepS * float64(len(tr.Values)) * float64(time.Second))); end.Before(tr.To) || tr.Values[len(tr.Values)-1] == nil {
			t.Errorf("%s: %d slots of %v s from %v do not reach %v", tr.Name, len(tr.Values), tr.StepS, tr.From, tr.To)
		}
	}
}

// If a server was recorded in runs months apart, its stalls have no period: only the recorded seconds
// count, and the time between runs is unknown.
func TestMonthsApartNoPeriod(t *testing.T) {
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	mem := recording.NewMemory(recording.MemoryOptions{})
	src := recording.Source{Kind: "ftdc", Name: "diagnostic.data", Engine: "mongodb", From: start}

	ops, micros, at := 0.0, 0.0, 0
	for _, day := range []int{0, 11, 13, 41, 47, 48} { // each runs for an hour, and stalls in its middle
		b := &recording.Batch{Columns: []recording.Column{
			{Labels: labels.FromStrings("__name__", "mongodb_ss_opLatencies_ops", "op_type", "writes")},
			{Labels: labels.FromStrings("__name__", "mongodb_ss_opLatencies_latency", "op_type", "writes")},
		}}

		from := at
		at = day * 86400
		for s := range 3601 {
			ops += 100
			micros += 100 * 1000
			if s == 1800 {
				micros += 100 * 900_000
			}
			b.TimesMs = append(b.TimesMs, start.Add(time.Duration(at+s)*time.Second).UnixMilli())
			b.Columns[0].Values = append(b.Columns[0].Values, ops)
			b.Columns[1].Values = append(b.Columns[1].Values, micros)
		}

		if err := mem.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}

		if day > 0 {
			mem.Note(recording.Note{Kind: recording.NoteGap, Source: src.Name,
				From: start.Add(time.Duration(from+3600) * time.Second), To: start.Add(time.Duration(at) * time.Second)})
		}

		src.To = start.Add(time.Duration(at+3600) * time.Second)
	}

	mem.Source(src)
	r, err := diagnose.Run(context.Background(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	if len(r.Incidents) != 6 {
		t.Errorf("%d incidents, want 6 that lie days apart (one every %d s if the time between the runs were left out)", len(r.Incidents), 3600)
	}

	for _, x := range r.Incidents {
		if x.Stalls.Episodes != 1 || x.Stalls.PeriodS != 0 {
			t.Errorf("incident %d has %d episodes every %v s, want one without a period", x.ID, x.Stalls.Episodes, x.Stalls.PeriodS)
		}
	}
}

// TestShortGap: a pause of the recorder that is too short to leave a hole in the series counts as
// watched only if it stalled.
func TestShortGap(t *testing.T) {
	for _, c := range []struct {
		name                     string
		gapMicros                float64 // mean latency of the operations in the pause
		wantWatched, wantStalled float64
	}{{"calm", 1000, 48, 0}, {"stalled", 900_000, 60, 12}} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			mem := recording.NewMemory(recording.MemoryOptions{})
			src := recording.Source{Kind: "host", Name: "host", Engine: "mongodb", From: start, To: start.Add(time.Minute)}
			b := &recording.Batch{Columns: []recording.Column{
				{Labels: labels.FromStrings("__name__", "mongodb_ss_opLatencies_ops", "op_type", "writes")},
				{Labels: labels.FromStrings("__name__", "mongodb_ss_opLatencies_latency", "op_type", "writes")},
			}}

			const gapFrom, gapTo = 20, 32
			ops, micros := 0.0, 0.0
			for s := range 61 {
				mean := 1000.0
				if s > gapFrom && s <= gapTo {
					mean = c.gapMicros
				}
				if ops += 100; s > 0 {
					micros += 100 * mean
				}
				if s > gapFrom && s < gapTo {
					continue // counted, but not sampled
				}
				b.TimesMs = append(b.TimesMs, start.Add(time.Duration(s)*time.Second).UnixMilli())
				b.Columns[0].Values = append(b.Columns[0].Values, ops)
				b.Columns[1].Values = append(b.Columns[1].Values, micros)
			}

			if err := mem.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			mem.Source(src)
			mem.Note(recording.Note{Kind: recording.NoteGap, Source: src.Name,
				From: start.Add(gapFrom * time.Second), To: start.Add(gapTo * time.Second), Text: "this program did not run for 11s"})

			r, err := diagnose.Run(t.Context(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
			if err != nil {
				t.Fatal(err)
			}
			if r.Stalls.Of != c.wantWatched || r.Stalls.Seconds != c.wantStalled || r.WatchedS != c.wantWatched {
				t.Errorf("stalled %v s of %v s (%v s watched), want %v of %v: %s", r.Stalls.Seconds, r.Stalls.Of, r.WatchedS,
					c.wantStalled, c.wantWatched, r.Verdict)
			}
		})
	}
}
