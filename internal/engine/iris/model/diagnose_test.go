package model

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/record/recording"
)

// record records all series each second.
func (b *harness) record(t *testing.T, seconds int) *recording.Memory {
	t.Helper()
	var batch recording.Batch

	column := func(name string, pairs []string) {
		batch.Columns = append(batch.Columns, recording.Column{Labels: labels.FromStrings(append([]string{labels.MetricName, name}, pairs...)...)})
	}
	for _, x := range b.instance.Metrics() {
		column(x.Name, x.Labels)
	}

	for _, x := range b.host.Metrics() {
		column(x.Name, x.Labels)
	}

	row := make([]float64, len(batch.Columns))
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for s := range seconds {
		b.clock.Run(vtime.At(time.Duration(s) * time.Second))
		b.instance.Sample(row[:len(names)])
		b.host.Sample(row[len(names):])
		batch.TimesMs = append(batch.TimesMs, epoch+int64(s)*1000)
		for k, x := range row {
			batch.Columns[k].Values = append(batch.Columns[k].Values, x)
		}
	}

	m := recording.NewMemory(recording.MemoryOptions{})
	if err := m.Append(context.Background(), &batch); err != nil {
		t.Fatal(err)
	}

	m.Source(recording.Source{Kind: "simulation", Name: t.Name(), Engine: "iris"})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}

	return m
}

// The rules find the cause of the model's stalls. On a volume of 200 operations per second, the
// daemon takes 100 s for 20,000 blocks, longer than its cycle.
func TestDiagnosed(t *testing.T) {
	for _, run := range []struct {
		iops  units.Frequency
		stall bool
	}{{3000, false}, {200, true}} {
		vc := gp3("data")
		vc.Sustained.IOPS = run.iops
		cfg := Defaults()
		cfg.Database, cfg.Buffers = units.GiB, units.GiB
		b := newHarness(t, cfg, volume.MustNew(vc, 1, nil), func(name string) volume.Volume { return volume.MustNew(gp3(name), 1, nil) }, 4)
		b.hot, b.gap, b.until = 20_000, 2*time.Millisecond, 1<<60
		b.clock.At(0, b, 0)

		r, err := diagnose.Run(context.Background(), []recording.Reader{b.record(t, 420)}, diagnose.Options{Pack: pack})
		if err != nil {
			t.Fatal(err)
		}

		stall := slices.ContainsFunc(r.Findings, func(f diagnose.Finding) bool { return f.Rule == "iris/write-daemon-stall" })
		if stall != run.stall {
			t.Errorf("%v IOPS: write daemon stall found: %v; cycles: %+v", run.iops, stall, b.instance.Cycles())
		}

		for _, n := range r.Missing {
			if strings.HasPrefix(n.Rule, "iris/") {
				t.Errorf("%s cannot be measured: %v", n.Rule, n.Missing)
			}
		}
	}
}
