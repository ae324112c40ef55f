package prove

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/random"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// scraped is an hour of a database whose writes take 2 ms, and 400 ms in about one second of every
// 20, as seen by an exporter that is scraped at the given interval. It includes an idle device,
// sampled every second.
func scraped(t *testing.T, seed random.Seed, every int) []recording.Reader {
	t.Helper()
	const seconds, rate = 3600, 1000.0
	chance := seed.Stream("scraped")
	start := time.Date(2026, 1, 1, int(seed), 0, 0, 0, time.UTC)
	database, device := recording.NewMemory(recording.MemoryOptions{}), recording.NewMemory(recording.MemoryOptions{})
	add := func(m *recording.Memory, at int, values map[string]float64) {
		b := &recording.Batch{TimesMs: []int64{start.Add(time.Duration(at) * time.Second).UnixMilli()}}
		for name, v := range values {
			metric, label, _ := strings.Cut(name, " ")
			key, value, _ := strings.Cut(label, "=")
			b.Columns = append(b.Columns, recording.Column{Labels: labels.FromStrings("__name__", metric, key, value), Values: []float64{v}})
		}
		if err := m.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}

	writes, waited, requests := 0.0, 0.0, 0.0
	for k := range seconds {
		if k%every == 0 {
			add(database, k, map[string]float64{
				"mongodb_ss_opLatencies_ops op_type=writes": writes, "mongodb_ss_opLatencies_latency op_type=writes": waited,
			})
		}

		add(device, k, map[string]float64{
			"node_disk_writes_completed_total device=sda": requests, "node_disk_write_time_seconds_total device=sda": requests * 0.0005,
			"node_disk_io_time_seconds_total device=sda": requests * 0.0005, "node_disk_written_bytes_total device=sda": requests * 4096,
		})

		latency := 2000.0 // microseconds
		if chance.Below(20) == 0 {
			latency = 400_000
		}

		writes, waited, requests = writes+rate, waited+rate*latency, requests+100+float64(chance.Below(10))
	}

	return []recording.Reader{database, device}
}

// The same load, scraped every 15 s before and every second after, or vice versa: the effect of the
// period does not count as a change.
func TestSameLoadAtAnotherPeriod(t *testing.T) {
	opt := few
	opt.Pack = testkit.Pack()

	for _, periods := range [][2]int{{15, 1}, {1, 15}, {60, 1}, {30, 15}, {15, 15}} {
		r, err := Compare(t.Context(), scraped(t, 1, periods[0]), scraped(t, 2, periods[1]), opt)
		if err != nil {
			t.Fatalf("%v: %v", periods, err)
		}

		for _, f := range r.Figures {
			if f.Verdict != CantTell && f.Verdict != NoChange {
				t.Errorf("every %d s, then every %d s: %s is %s, from %s to %s", periods[0], periods[1], f.Name, f.Verdict, f.Before.Text(f.Unit), f.After.Text(f.Unit))
			}
		}

		if figure(r, "stalled").P == nil && periods[0] < 60 && periods[1] < 60 {
			t.Errorf("%v: stalled time is not compared", periods)
		}
	}
}
