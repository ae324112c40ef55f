//go:build linux

package server

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/model/simulate"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// page is a recording of samples.
type page struct {
	recording.Writer
	mu      sync.Mutex
	values  map[string]float64
	samples int
	notes   []string
	each    func(samples int)
}

func (p *page) Append(_ context.Context, b *recording.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range b.Columns {
		p.values[c.Labels.String()] = c.Values[len(c.Values)-1]
	}
	p.samples++
	if p.each != nil {
		p.each(p.samples)
	}
	return nil
}

func (*page) Source(recording.Source) {}
func (p *page) Note(n recording.Note) { p.notes = append(p.notes, n.Text) }

func TestModelAndServerAgreeOnNames(t *testing.T) {
	b := start(t, folder(t, t.TempDir()), text, "data")
	if !strings.HasPrefix(b.version, "15.") && !strings.HasPrefix(b.version, "14.") && !strings.HasPrefix(b.version, "16.") {
		t.Skip("the model is of PostgreSQL 15: others have other statistics")
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := &page{values: map[string]float64{}, each: func(int) { cancel() }}

	src := b.Sources()[0]
	if !src.Live() || src.Describe().Engine != "postgres" {
		t.Errorf("source: %+v", src.Describe())
	}

	if err := src.Read(ctx, got, source.Options{}); err != nil {
		t.Fatal(err)
	}

	sc, err := language.Parse("test.yaml", []byte(text), []string{"run={duration: 1s, warmup: 1s}"})
	if err != nil {
		t.Fatal(err)
	}

	want := &page{values: map[string]float64{}}
	if _, err := simulate.Run(t.Context(), sc, simulate.Options{Record: want}); err != nil {
		t.Fatal(err)
	}

	maps.DeleteFunc(want.values, func(series string, _ float64) bool { return !strings.Contains(series, `__name__="pg_`) })
	names := func(m map[string]float64) []string { return slices.Sorted(maps.Keys(m)) }
	if d := cmp.Diff(names(want.values), names(got.values)); d != "" {
		t.Errorf("model - server +:\n%s", d)
	}

	for series, value := range want.values {
		if strings.Contains(series, "pg_settings_") && got.values[series] != value {
			t.Errorf("%s is %v, and %v in the model", series, got.values[series], value)
		}
	}

	if src.Describe().Samples != 1 {
		t.Errorf("source: %+v", src.Describe())
	}
}

func TestStatisticsOverACrash(t *testing.T) {
	b := start(t, folder(t, t.TempDir()), text, "data")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	down := make(chan struct{})
	p := &page{values: map[string]float64{}}
	p.each = func(n int) {
		switch {
		case n == 1:
			close(down)
		case len(p.notes) > 0: // there was a gap, and samples after it
			cancel()
		}
	}

	done := make(chan error, 1)
	want := func(metric string) bool { return metric == "pg_up" || metric == "pg_stat_wal_wal_bytes" }
	src := b.Sources()[0]
	go func() { done <- src.Read(ctx, p, source.Options{Period: 10 * time.Millisecond, Want: want}) }()
	<-down

	if err := b.Crash(); err != nil {
		t.Fatal(err)
	}

	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := <-done; err != nil {
		t.Fatal(err)
	}

	if len(p.notes) == 0 || !strings.Contains(p.notes[0], "samples in a row failed") {
		t.Errorf("notes: %q", p.notes)
	}

	if len(p.values) != 2 {
		t.Errorf("want two series: %v", p.values)
	}

	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := src.Read(t.Context(), p, source.Options{}); err == nil || !strings.Contains(err.Error(), "reading PostgreSQL's statistics") {
		t.Errorf("without a server: %v", err)
	}
}
