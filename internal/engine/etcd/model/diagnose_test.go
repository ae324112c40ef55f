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

// record runs clients that put one value after another, and records all series every second.
func (b *harness) record(clients, seconds int) *recording.Memory {
	b.t.Helper()
	var batch recording.Batch

	column := func(name string, pairs []string) {
		batch.Columns = append(batch.Columns, recording.Column{Labels: labels.FromStrings(append([]string{labels.MetricName, name}, pairs...)...)})
	}
	for _, x := range b.cluster.Metrics() {
		column(x.Name, x.Labels)
	}

	own := len(batch.Columns)
	for _, x := range b.hosts[0].Metrics() {
		column(x.Name, x.Labels)
	}

	row := make([]float64, len(batch.Columns))
	b.closed = true

	for range clients {
		b.put()
	}

	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for s := range seconds {
		b.clock.Run(vtime.At(time.Duration(s) * time.Second))
		b.cluster.Sample(row[:own])
		b.hosts[0].Sample(row[own:])
		batch.TimesMs = append(batch.TimesMs, epoch+int64(s)*1000)
		for k, x := range row {
			batch.Columns[k].Values = append(batch.Columns[k].Values, x)
		}
	}

	m := recording.NewMemory(recording.MemoryOptions{})
	if err := m.Append(context.Background(), &batch); err != nil {
		b.t.Fatal(err)
	}

	m.Source(recording.Source{Kind: "simulation", Name: b.t.Name(), Engine: "etcd"})
	if err := m.Close(); err != nil {
		b.t.Fatal(err)
	}

	return m
}

// TestDiagnosed: the rules find the cause of the model's stalls, as they do with a real member.
func TestDiagnosed(t *testing.T) {
	late := func(vc volume.Config, d time.Duration) volume.Config {
		vc.Latency[volume.Write] = latency(t, volume.Quantile{Share: 0, Takes: units.Duration(d)}, volume.Quantile{Share: 1, Takes: units.Duration(d + d/2)})
		return vc
	}
	for _, run := range []struct {
		name    string
		members int
		wal     func(k int) volume.Config
		data    volume.Config
		want    string
		lack    []string
	}{
		{
			"one client on gp3", 1, func(int) volume.Config { return gp3(t, 3000) }, gp3(t, 3000),
			"disk/latency-bound", []string{"disk/iops-capped", "etcd/wal-fsync-slow", "etcd/backend-commit-slow"},
		},
		{
			"slow WAL", 1, func(int) volume.Config { return late(gp3(t, 3000), 9*time.Millisecond) }, gp3(t, 3000),
			"etcd/wal-fsync-slow", []string{"disk/iops-capped", "etcd/backend-commit-slow"},
		},
		{
			"slow database", 1, func(int) volume.Config { return gp3(t, 3000) }, late(gp3(t, 3000), 15*time.Millisecond),
			"etcd/backend-commit-slow", []string{"etcd/wal-fsync-slow", "disk/iops-capped"},
		},
		{
			"slow follower", 3, func(k int) volume.Config {
				if k == 3 {
					return late(gp3(t, 3000), 5*time.Millisecond)
				}
				return gp3(t, 3000)
			}, gp3(t, 3000),
			"etcd/slow-member", []string{"etcd/backend-commit-slow", "disk/iops-capped"},
		},
	} {
		t.Run(run.name, func(t *testing.T) {
			bc := cloud(t, run.data)
			bc.config.Members, bc.shared, bc.host.Cores = run.members, true, 4*run.members
			bc.volumes = run.wal
			b := newHarness(t, bc)

			r, err := diagnose.Run(context.Background(), []recording.Reader{b.record(1, 90)}, diagnose.Options{Pack: pack})
			if err != nil {
				t.Fatal(err)
			}

			var found []string
			for _, f := range r.Findings {
				found = append(found, f.Rule)
			}

			if !slices.Contains(found, run.want) {
				t.Errorf("found %q, not %s", found, run.want)
			}

			for _, lack := range run.lack {
				if slices.Contains(found, lack) {
					t.Errorf("found %s, which it is not", lack)
				}
			}

			for _, n := range r.Missing {
				// The model has no maintenance, no alarms and no log.
				maintenance := slices.Contains([]string{"etcd/defragmentation", "etcd/compaction-pauses", "etcd/snapshot-sent", "etcd/corrupt"}, n.Rule)
				if strings.HasPrefix(n.Rule, "etcd/") && !maintenance && !strings.Contains(n.Rule, "logged") {
					t.Errorf("%s cannot be measured: %v", n.Rule, n.Missing)
				}
			}
		})
	}
}
