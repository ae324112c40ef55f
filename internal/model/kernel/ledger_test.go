package kernel

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// A scripted is a volume that completes requests when the test says so.
type scripted struct {
	volume.Volume
	next volume.Completion
}

func (v *scripted) Submit(vtime.Instant, volume.Request) volume.Completion { return v.next }
func (v *scripted) State(vtime.Instant) volume.State                       { return volume.State{} }

type flight struct {
	r        volume.Request
	from, to vtime.Instant
	issued   vtime.Instant
	held     volume.Limit
}

// At each tenth of a second, the counters equal those from counting the requests one by one, however
// they overlap.
func TestCountersAgainstCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var clock vtime.Clock
		h := NewHost(Defaults(), &clock, 1)
		v := &scripted{}
		d := h.Attach("data", v)
		metrics := h.Metrics()
		values := make([]float64, len(metrics))

		var all []flight
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now := clock.Now()
			if rapid.IntRange(0, 2).Draw(t, "what") > 0 {
				r := volume.Request{
					Op:     volume.Op(rapid.IntRange(0, volume.Ops-1).Draw(t, "op")),
					Length: units.Size(rapid.IntRange(1, 1<<20).Draw(t, "length")),
				}

				admitted := now.Add(time.Duration(rapid.Int64Range(0, 3e8).Draw(t, "slot")))
				issued := admitted.Add(time.Duration(rapid.Int64Range(0, 5e9).Draw(t, "limit")))
				done := issued.Add(time.Duration(rapid.Int64Range(1, 1e9).Draw(t, "latency")))

				// A volume admits in the order of submission.
				if n := len(all); n > 0 {
					admitted = max(admitted, all[n-1].from)
					issued = max(issued, admitted)
					done = max(done, issued+1)
				}

				held := rapid.SampledFrom([]volume.Limit{volume.Unlimited, volume.VolumeThroughput}).Draw(t, "held")
				v.next = volume.Completion{Admitted: admitted, Issued: issued, Done: done, Operations: 1, Held: held}
				d.Do(r)
				all = append(all, flight{r, admitted, done, issued, held})
				continue
			}

			to := (now/slotLength + vtime.Instant(rapid.IntRange(1, 200).Draw(t, "pause"))) * slotLength
			clock.Run(to)
			if rapid.Bool().Draw(t, "look") {
				h.Sample(values)
				agree(t, metrics, values, all, to)
			}
		}

		// At the end nothing is in flight, and everything is counted.
		clock.Run(clock.Now()/slotLength*slotLength + 100*slotLength)
		h.Sample(values)
		agree(t, metrics, values, all, clock.Now())
	})
}

func agree(t *rapid.T, metrics []Metric, values []float64, all []flight, now vtime.Instant) {
	want := map[string]float64{}
	var busyTo, heldTo vtime.Instant
	for _, f := range all {
		end := min(f.to, now)
		if f.from < now {
			want["node_disk_io_time_weighted_seconds_total"] += (end - f.from).Seconds()
			if end > max(f.from, busyTo) {
				want["node_disk_io_time_seconds_total"] += (end - max(f.from, busyTo)).Seconds()
			}

			busyTo = max(busyTo, end)
			if until := min(f.issued, now); f.held == volume.VolumeThroughput {
				if until > max(f.from, heldTo) {
					want["aws_ebs_csi_exceeded_tp_seconds_total"] += (until - max(f.from, heldTo)).Seconds()
				}
				heldTo = max(heldTo, until)
			}

			if f.to >= now {
				want["node_disk_io_now"]++
			}
		}

		if f.to >= now {
			continue
		}

		switch f.r.Op {
		case volume.Read:
			want["node_disk_reads_completed_total"]++
			want["node_disk_read_bytes_total"] += float64(f.r.Length)
			want["node_disk_read_time_seconds_total"] += (f.to - f.from).Seconds()
		case volume.Write:
			want["node_disk_writes_completed_total"]++
			want["node_disk_written_bytes_total"] += float64(f.r.Length)
			want["node_disk_write_time_seconds_total"] += (f.to - f.from).Seconds()
		default:
			want["node_disk_flush_requests_total"]++
			want["node_disk_flush_requests_time_seconds_total"] += (f.to - f.from).Seconds()
		}
	}

	for i, m := range metrics {
		if len(m.Name) > 10 && m.Name[:10] == "node_disk_" || m.Name == "aws_ebs_csi_exceeded_tp_seconds_total" {
			if math.Abs(values[i]-want[m.Name]) > 1e-6 {
				t.Fatalf("at %v: %s is %v, counted %v", now.Seconds(), m.Name, values[i], want[m.Name])
			}
		}
	}
}

// Counters are correct, however rarely they are read.
func TestNobodyLooks(t *testing.T) {
	var clock vtime.Clock
	h := NewHost(Defaults(), &clock, 1)
	d := h.Attach("data", slow(t, 0))

	const hours = 5
	for i := range hours * 60 {
		clock.Run(vtime.At(time.Duration(i) * time.Minute))
		d.Do(volume.Request{Op: volume.Write, Length: 4096})
	}

	clock.Run(vtime.At(hours * time.Hour))
	if n := len(d.ledger.ahead); n > 128 {
		t.Errorf("%d slots are kept for one request a minute", n)
	}

	values := make([]float64, len(h.Metrics()))
	h.Sample(values)

	for i, m := range h.Metrics() {
		want := map[string]float64{
			"node_disk_writes_completed_total": hours * 60, "node_disk_write_time_seconds_total": hours * 60 * 600e-6,
			"node_disk_io_time_seconds_total": hours * 60 * 600e-6, "node_disk_io_time_weighted_seconds_total": hours * 60 * 600e-6,
			"node_pressure_io_waiting_seconds_total": hours * 60 * 600e-6,
		}[m.Name]
		if want != 0 && math.Abs(values[i]-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", m.Name, values[i], want)
		}
	}
}
