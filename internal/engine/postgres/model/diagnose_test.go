package model

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
)

// record runs for a while and records all series each second.
func (b *bench) record(t *testing.T, seconds int) *recording.Memory {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	engineMetrics, hostMetrics := b.engine.Metrics(), b.host.Metrics()
	batch := recording.Batch{}

	column := func(name string, pairs []string) {
		batch.Columns = append(batch.Columns, recording.Column{Labels: labels.FromStrings(append([]string{labels.MetricName, name}, pairs...)...)})
	}
	for _, x := range engineMetrics {
		column(x.Name, x.Labels)
	}

	for _, x := range hostMetrics {
		column(x.Name, x.Labels)
	}

	row := make([]float64, len(engineMetrics)+len(hostMetrics))
	b.until = vtime.At(time.Duration(seconds) * time.Second)
	b.clock.At(0, b, 0)

	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for s := range seconds {
		b.clock.Run(vtime.At(time.Duration(s) * time.Second))
		b.engine.Sample(row[:len(engineMetrics)])
		b.host.Sample(row[len(engineMetrics):])
		batch.TimesMs = append(batch.TimesMs, epoch+int64(s)*1000)
		for k, x := range row {
			batch.Columns[k].Values = append(batch.Columns[k].Values, x)
		}
	}

	if err := m.Append(context.Background(), &batch); err != nil {
		t.Fatal(err)
	}

	m.Source(recording.Source{Kind: "simulation", Name: t.Name(), Engine: "postgres"})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}

	return m
}

// TestDiagnosed: the rules find the cause of the model's stalls, as they do with a real server.
func TestDiagnosed(t *testing.T) {
	for _, run := range []struct {
		name       string
		change     func(*Config)
		want, lack string
	}{
		{"unpaced", func(c *Config) { c.CheckpointCompletionTarget, c.CheckpointFlushAfter = 0, 0 }, "postgres/checkpoint-burst", "postgres/checkpoint-requested"},
		{"default", func(*Config) {}, "", "postgres/checkpoint-burst"},
		{"small WAL", func(c *Config) { c.MaxWALSize = 128 * units.MiB }, "postgres/checkpoint-requested", ""},
		{"small cache", func(c *Config) { c.SharedBuffers, c.BgwriterLRUMaxpages = 16*units.MiB, 0 }, "postgres/backend-writes", "postgres/checkpoint-requested"},
	} {
		t.Run(run.name, func(t *testing.T) {
			cfg := exampleConfig()
			run.change(&cfg)
			b := newBench(t, cfg, labHost(), labVolume(), 600, 1)

			r, err := diagnose.Run(context.Background(), []recording.Reader{b.record(t, 200)}, diagnose.Options{Pack: pack})
			if err != nil {
				t.Fatal(err)
			}

			var found []string
			for _, f := range r.Findings {
				found = append(found, f.Rule)
			}

			if run.want != "" && !slices.Contains(found, run.want) || run.lack != "" && slices.Contains(found, run.lack) {
				t.Errorf("found %q: want %q and not %q", found, run.want, run.lack)
			}

			for _, n := range r.Missing {
				// The model's sessions wait for its own storage only, so it reports no wait events.
				// It has no slots, no archiver, no queries that spill and no log.
				if len(n.Rule) > 8 && n.Rule[:8] == "postgres" && !strings.Contains(n.Missing[0], "pg_stat_activity_count") &&
					!slices.Contains([]string{"postgres/wal-kept", "postgres/temp-files"}, n.Rule) &&
					!strings.Contains(n.Rule, "logged") {
					t.Errorf("%s cannot be measured: %v", n.Rule, n.Missing)
				}
			}
		})
	}
}

// TestSampleIsFinite: no series is missing or out of bounds.
func TestSampleIsFinite(t *testing.T) {
	b := newBench(t, exampleConfig(), labHost(), labVolume(), 100, 1)
	b.run(5*time.Second, 0)
	values := make([]float64, len(b.engine.Metrics()))
	b.engine.Sample(values)
	for k, m := range b.engine.Metrics() {
		if math.IsNaN(values[k]) || values[k] < 0 {
			t.Errorf("%s is %g", m.Name, values[k])
		}
	}
}
