package model

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
)

// record continues a bench and records all series every second.
func (b *bench) record(t *testing.T, length time.Duration) *recording.Memory {
	t.Helper()
	var batch recording.Batch

	column := func(name string, pairs []string) {
		batch.Columns = append(batch.Columns, recording.Column{Labels: labels.FromStrings(append([]string{labels.MetricName, name}, pairs...)...)})
	}
	for _, x := range b.engine.Metrics() {
		column(x.Name, x.Labels)
	}

	n := len(batch.Columns)
	for _, x := range b.host.Metrics() {
		column(x.Name, x.Labels)
	}

	row := make([]float64, len(batch.Columns))
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for end := b.clock.Now().Add(length); b.clock.Now() < end; {
		b.engine.Sample(row[:n])
		b.host.Sample(row[n:])
		batch.TimesMs = append(batch.TimesMs, epoch+int64(b.clock.Now()/1e6))
		for k, x := range row {
			batch.Columns[k].Values = append(batch.Columns[k].Values, x)
		}
		b.clock.Run(b.clock.Now() + vtime.At(time.Second))
	}

	m := recording.NewMemory(recording.MemoryOptions{})
	if err := m.Append(context.Background(), &batch); err != nil {
		t.Fatal(err)
	}

	m.Source(recording.Source{Kind: "simulation", Name: t.Name(), Engine: "mongodb"})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}

	return m
}

// The rules report the same for the model as for the real engine in the same situation: the kernel's
// backlog and the volume's throughput are the causes, eviction is at most a symptom, and nothing stalls
// if the journal has its own volume.
func TestDiagnosed(t *testing.T) {
	for _, c := range []struct {
		name       string
		change     func(*rig)
		named, not []string
		stalled    bool
	}{
		{"baseline", func(*rig) {}, []string{"host/writeback-backlog", "disk/throughput-capped", "wiredtiger/journal-stall"}, []string{"wiredtiger/app-eviction", "wiredtiger/cache-pressure"}, true},
		{"separate journal", func(r *rig) { r.volumes["journal"] = labVolume() }, nil, []string{"wiredtiger/app-eviction", "wiredtiger/checkpoint-stall", "disk/throughput-capped"}, false},
	} {
		g := lab()
		c.change(&g)
		b := g.run(t, 2*time.Minute, 0)

		r, err := diagnose.Run(context.Background(), []recording.Reader{b.record(t, 6*time.Minute)}, diagnose.Options{Pack: pack})
		if err != nil {
			t.Fatal(err)
		}

		var rules []string
		for _, f := range r.Findings {
			rules = append(rules, f.Rule)
		}

		t.Logf("%s: %s %v", c.name, r.Verdict, rules)
		for _, want := range c.named {
			if !slices.Contains(rules, want) {
				t.Errorf("%s: %s not found", c.name, want)
			}
		}

		for _, bad := range c.not {
			for _, f := range r.Findings {
				if f.Rule == bad && f.Severity != diagnose.Info {
					t.Errorf("%s: %s reported: %s", c.name, bad, f.Summary)
				}
			}
		}

		if stalled := r.Stalls.Seconds > 0; stalled != c.stalled {
			t.Errorf("%s: %v stalled seconds", c.name, r.Stalls.Seconds)
		}
	}
}
