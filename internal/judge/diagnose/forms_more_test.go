package diagnose_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/headroom/offers"
	"plimsoll/internal/model/catalog"
)

// histogram writes a histogram as Prometheus' client libraries do: rate operations per second, of which the
// share upTo(s)[k] took at most edges[k]. Both have the same length and are cumulative.
func (w *written) histogram(name, member string, rate func(s float64) float64, edges []string, upTo func(s float64) []float64, mean func(s float64) float64) *written {
	for k, le := range append(slices.Clone(edges), "+Inf") {
		w.counter(func(s float64) float64 {
			share := 1.0
			if k < len(edges) {
				share = upTo(s)[k]
			}
			return rate(s) * share
		}, name+"_bucket", "instance", member, "le", le)
	}
	return w.counter(rate, name+"_count", "instance", member).counter(func(s float64) float64 { return rate(s) * mean(s) }, name+"_sum", "instance", member)
}

// A neighbour on the host writes 4 GB through the page cache, which is flushed for minutes. Clients'
// p99 is 216 ms, as their exporter shows.
func TestNeighbourFillsThePageCache(t *testing.T) {
	in := func(s float64) bool { return s >= 1200 && s < 1245 || s >= 2400 && s < 2445 }
	commits := func(s float64) float64 {
		if in(s) {
			return 310 * jitter(s, "commits", 0.1)
		}
		return 900 * jitter(s, "commits", 0.05)
	}

	active := func(s float64) float64 {
		if in(s) {
			return math.Round(34 * jitter(s, "active", 0.15))
		}
		return math.Round(4 * jitter(s, "active", 0.3))
	}

	volume := func(s float64) did {
		if in(s) {
			return did{reads: 100, writes: 1000 * jitter(s, "w", 0.02), readKiB: 8, writeKiB: 92, readS: 0.03, writeS: 0.09, busy: 0.999}
		}
		return did{reads: 100, writes: 220, readKiB: 8, writeKiB: 12, readS: 0.0006, writeS: 0.0008, busy: 0.15}
	}

	dirty := func(s float64) float64 {
		for _, at := range []float64{1200, 2400} {
			if s >= at-30 && s < at {
				return 4e9 * (s - at + 31) / 31
			}
			if s >= at && s < at+45 {
				return 4e9 * (1 - (s-at)/45)
			}
		}
		return 4e7
	}

	w := forms(t, 15*time.Second, time.Hour).postgres(commits, active).node("nvme1n1", volume).
		gauge(dirty, "node_memory_Dirty_bytes").gauge(func(s float64) float64 {
		if in(s) {
			return 9e7
		}
		return 1e5
	}, "node_memory_Writeback_bytes")

	r := w.diagnose(diagnose.Options{})
	show(t, "postgres_exporter and node_exporter", r)
	if foundAnywhere(r, "host/writeback-backlog") == nil || strings.HasPrefix(r.Verdict, "No stall") {
		t.Errorf("the backlog is not named: %s", r.Verdict)
	}

	volumeOnly := forms(t, 15*time.Second, time.Hour).node("nvme1n1", volume).gauge(dirty, "node_memory_Dirty_bytes")
	r = volumeOnly.diagnose(diagnose.Options{})
	show(t, "node_exporter alone", r)

	if foundAnywhere(r, "host/writeback-backlog") == nil || strings.HasPrefix(r.Verdict, "No stall") {
		t.Errorf("the backlog is not named: %s", r.Verdict)
	}
}

// One of three members had syncs of 4 s. It is reported first, not a healthy one.
func TestTheSlowMemberIsFirst(t *testing.T) {
	edges := []string{"0.001", "0.002", "0.004", "0.008", "0.016", "0.032", "0.064", "0.128", "0.256", "0.512", "1.024", "2.048", "4.096", "8.192"}
	for _, step := range []time.Duration{15 * time.Second, 30 * time.Second} {
		w := forms(t, step, time.Hour)
		for _, member := range []string{"10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"} {
			ill := func(s float64) bool { return member == "10.0.0.2:2379" && s >= 1800 && s < 1860 }
			rate := func(s float64) float64 {
				if ill(s) {
					return 12
				}
				return 100 * jitter(s, member, 0.05)
			}

			w.histogram("etcd_disk_wal_fsync_duration_seconds", member, rate, edges, func(s float64) []float64 {
				if ill(s) {
					return []float64{0, 0, 0.5, 0.8, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.97, 0.98, 1, 1}
				}
				return []float64{0.2, 0.8, 0.985, 0.9995, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
			}, func(s float64) float64 {
				if ill(s) {
					return 0.12
				}
				return 0.0016
			}).counter(rate, "etcd_server_proposals_committed_total", "instance", member)
		}

		r := w.diagnose(diagnose.Options{})
		show(t, step.String(), r)
		if len(r.Findings) == 0 || !strings.Contains(r.Findings[0].Subject, "10.0.0.2") || strings.HasPrefix(r.Verdict, "No stall") {
			t.Errorf("%v: the member that took 4 s is not first: %s", step, r.Verdict)
		}
	}
}

// mongod adds a MongoDB server's metrics under mongodb_exporter's names: rate writes per second, each of
// which takes latency seconds.
func (w *written) mongod(rate, latency func(s float64) float64) *written {
	for _, op := range []string{"writes", "reads", "commands"} {
		share := 1.0
		if op != "writes" {
			share = 0.2
		}
		w.counter(func(s float64) float64 { return rate(s) * share }, "mongodb_ss_opLatencies_ops", "op_type", op).
			counter(func(s float64) float64 { return 1e6 * rate(s) * share * latency(s) }, "mongodb_ss_opLatencies_latency", "op_type", op)
	}
	return w
}

// Writes stall every minute while the volume is at 34 % of its IOPS and 10 % of its throughput, with a
// short queue. More of either would not help, and neither is recommended.
func TestMoreOfTheVolumeBuysNothing(t *testing.T) {
	in := func(s float64) bool { return math.Mod(s, 300) >= 240 }
	latency := func(s float64) float64 {
		if in(s) {
			return 0.35 * jitter(s, "l", 0.2)
		}
		return 0.002 * jitter(s, "l", 0.2)
	}

	volume := func(s float64) did {
		if in(s) {
			n := 1020 * jitter(s, "w", 0.06)
			return did{reads: 10, writes: n, readKiB: 8, writeKiB: 12, readS: 0.0008, writeS: 0.0011, busy: 0.97}
		}
		return did{reads: 10, writes: 400 * jitter(s, "w", 0.06), readKiB: 8, writeKiB: 10, readS: 0.0007, writeS: 0.0008, busy: 0.3}
	}

	known := offers.Known(nil, map[string]catalog.Order{"nvme1n1": {Type: "gp3", Size: 500 << 30}}, nil, "")
	for _, step := range []time.Duration{time.Second, 15 * time.Second, time.Minute} {
		t.Run(step.String(), func(t *testing.T) {
			r := forms(t, step, 2*time.Hour).mongod(func(s float64) float64 {
				if in(s) {
					return 300
				}
				return 900
			}, latency).node("nvme1n1", volume).diagnose(diagnose.Options{Known: known})
			show(t, step.String(), r)
			if f := foundAnywhere(r, "disk/limits-unused"); f == nil || !strings.Contains(f.Summary, "gp3 of 500 GiB") {
				t.Errorf("that more buys nothing is not said: %s", r.Verdict)
			}
			noMoreVolume(t, r)
		})
	}
}

// noMoreVolume fails if the report recommends buying or moving anything.
func noMoreVolume(t *testing.T, r *diagnose.Report) {
	t.Helper()
	for _, a := range r.Actions {
		if a.Money != "" || strings.Contains(a.Remedy, "apart") {
			t.Errorf("%s is proposed: %s", a.Remedy, a.Title)
		}
	}
}

// The CPUs are 97 % busy while commits wait. The disk is not the cause, and no volume is recommended.
func TestCPUNotTheDisk(t *testing.T) {
	in := func(s float64) bool { return s >= 1800 && s < 2700 }
	busy := func(s float64) float64 {
		if in(s) {
			return min(0.99, 0.97*jitter(s, "cpu", 0.015))
		}
		return 0.45 * jitter(s, "cpu", 0.1)
	}

	volume := func(s float64) did {
		return did{reads: 150, writes: 420 * jitter(s, "w", 0.1), readKiB: 8, writeKiB: 14, readS: 0.0007, writeS: 0.0010, busy: 0.12}
	}
	rate := func(s float64) float64 {
		if in(s) {
			return 700 * jitter(s, "r", 0.1)
		}
		return 1500 * jitter(s, "r", 0.05)
	}

	for name, w := range map[string]*written{
		"postgres_exporter": forms(t, 15*time.Second, 90*time.Minute).postgres(rate, func(s float64) float64 {
			if in(s) {
				return math.Round(90 * jitter(s, "a", 0.1))
			}
			return math.Round(8 * jitter(s, "a", 0.2))
		}),
		"mongodb_exporter": forms(t, 15*time.Second, 90*time.Minute).mongod(rate, func(s float64) float64 {
			if in(s) {
				return 0.14 * jitter(s, "l", 0.2)
			}
			return 0.003 * jitter(s, "l", 0.2)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			r := w.node("nvme1n1", volume).cpu(8, busy).diagnose(diagnose.Options{})
			show(t, name, r)
			if foundAnywhere(r, "host/cpu-saturated") == nil || foundAnywhere(r, "disk/not-the-cause") == nil {
				t.Errorf("not the CPU, or the disk may be: %s", r.Verdict)
			}
			noMoreVolume(t, r)
		})
	}
}

// Two volumes take turns at a limit that they share. It is the machine's limit, so no larger volume is
// recommended. A single volume at the baseline of a known machine type is held back by that baseline.
func TestTheMachinesLimit(t *testing.T) {
	share := func(k float64) func(s float64) did {
		return func(s float64) did {
			if math.Mod(s, 3600) >= 1800 {
				return did{reads: 500, writes: 500, readKiB: 16, writeKiB: 16, readS: 0.0007, writeS: 0.0009, busy: 0.4}
			}
			ops := 6000 * (0.5 + k*0.3*(jitter(s, "share", 1)-1))
			return did{reads: ops / 2, writes: ops / 2, readKiB: 16, writeKiB: 16, readS: 25 / ops, writeS: 25 / ops, busy: 0.999}
		}
	}

	alone := until(3600, capped(900, 6000, 0.0008, 16, 0.3), capped(9000, 6000, 0.0008, 16, 0.3))
	xlarge := diagnose.Options{Known: offers.Known(nil, nil, nil, "m6i.xlarge")}
	for name, r := range map[string]*diagnose.Report{
		"together":       forms(t, 15*time.Second, 4*time.Hour).node("nvme1n1", share(1)).node("nvme2n1", share(-1)).diagnose(diagnose.Options{}),
		"together, 1 s":  forms(t, time.Second, 2*time.Hour).node("nvme1n1", share(1)).node("nvme2n1", share(-1)).diagnose(diagnose.Options{}),
		"of a type":      forms(t, 15*time.Second, 4*time.Hour).node("nvme1n1", share(1)).node("nvme2n1", share(-1)).diagnose(xlarge),
		"alone":          forms(t, 15*time.Second, 4*time.Hour).node("nvme1n1", alone).diagnose(xlarge),
		"alone, reports": forms(t, time.Minute, 4*time.Hour).cloudwatch("vol-0a1b2c3d4e5f60718", alone).diagnose(xlarge),
	} {
		t.Run(name, func(t *testing.T) {
			show(t, name, r)
			if f := foundAnywhere(r, "disk/machine-capped"); f == nil || f.Severity == diagnose.Info || foundAnywhere(r, "disk/iops-capped") != nil {
				t.Errorf("it is not called the machine's: %s", r.Verdict)
			}
			noMoreVolume(t, r)
		})
	}

	// If the machine type is unknown, the same level may be the volume's limit.
	if r := forms(t, 15*time.Second, 4*time.Hour).node("nvme1n1", alone).diagnose(diagnose.Options{}); foundAnywhere(r, "disk/iops-capped") == nil {
		t.Errorf("the volume's limit: %s", r.Verdict)
	}
}

// Credits that run out within hours appear in the headline, although nothing stalls.
func TestVerdictSaysWhatEnds(t *testing.T) {
	volume := func(s float64) did {
		n := 290 * jitter(s, "n", 0.05)
		return did{reads: n / 2, writes: n / 2, readKiB: 8, writeKiB: 8, readS: 0.0007, writeS: 0.0009, busy: 0.2}
	}
	known := offers.Known(nil, map[string]catalog.Order{"nvme1n1": {Type: "gp2", Size: 50 << 30}}, nil, "")
	r := forms(t, 15*time.Second, 2*time.Hour).node("nvme1n1", volume).diagnose(diagnose.Options{Known: known})
	if want := "Headroom of nvme1n1: burst credits used up in "; !strings.Contains(r.Verdict, want) || !strings.Contains(r.Verdict, "Then the limit falls to 150 IOPS.") {
		t.Errorf("the verdict is %q, want %q in it", r.Verdict, want)
	}
	if incidents := fmt.Sprint(len(r.Incidents)); incidents != "0" {
		t.Errorf("%s incidents", incidents)
	}
}

// A file system that fills up, as `plimsoll record host` records it, appears in the headline with the
// time when it is full.
func TestVerdictSaysWhenSpaceEnds(t *testing.T) {
	volume := func(s float64) did {
		return did{reads: 50, writes: 200 * jitter(s, "n", 0.05), readKiB: 8, writeKiB: 8, readS: 0.0007, writeS: 0.0009, busy: 0.2}
	}
	fs := []string{"device", "/dev/nvme1n1", "mountpoint", "/var/lib/db"}
	named := func(metric string) []string { return append([]string{metric}, fs...) }
	r := forms(t, time.Second, time.Hour).node("nvme1n1", volume).
		gauge(func(float64) float64 { return 100e9 }, named("node_filesystem_size_bytes")...).
		gauge(func(s float64) float64 { return 20e9 - 2e6*math.Floor(s/10)*10*jitter(s, "f", 0.01) }, named("node_filesystem_avail_bytes")...).
		diagnose(diagnose.Options{})
	if want := "Headroom of nvme1n1: space used up in 1h4"; !strings.Contains(r.Verdict, want) || !strings.Contains(r.Verdict, "Then writes fail.") {
		t.Errorf("the verdict is %q, want %q in it", r.Verdict, want)
	}
}
