package diagnose_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
)

// The figures of published cases, in the formats of the exporters that report them.

// wiredTiger adds what mongodb_exporter reports about the storage engine: the cache's size, how full
// and how dirty it is, and pages that application threads evicted per second, at a millisecond each.
func (w *written) wiredTiger(cache float64, fill, dirty, evicted func(s float64) float64) *written {
	of := func(share func(s float64) float64) func(s float64) float64 {
		return func(s float64) float64 { return cache * share(s) }
	}
	return w.gauge(func(float64) float64 { return cache }, "mongodb_ss_wt_cache_maximum_bytes_configured").
		gauge(of(fill), "mongodb_ss_wt_cache_bytes_currently_in_the_cache").
		gauge(of(dirty), "mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache").
		counter(evicted, "mongodb_ss_wt_cache_pages_evicted_by_application_threads").
		counter(func(s float64) float64 { return 1e3 * evicted(s) }, "mongodb_ss_wt_thread_yield_application_thread_time_evicting_usecs")
}

// checkpoints adds what mongodb_exporter reports about checkpoints that begin every minute and last the
// given time.
func (w *written) checkpoints(took float64) *written {
	running := func(s float64) float64 {
		if math.Mod(s, 60) < took {
			return 1
		}
		return 0
	}
	return w.gauge(running, "mongodb_ss_wt_txn_transaction_checkpoint_currently_running").
		gauge(func(float64) float64 { return 1000 * took }, "mongodb_ss_wt_txn_transaction_checkpoint_most_recent_time_msecs").
		counter(func(s float64) float64 {
			if at := math.Mod(s, 60); at >= took && at < took+w.step.Seconds() {
				return 1000 * took / w.step.Seconds()
			}
			return 0
		}, "mongodb_ss_wt_txn_transaction_checkpoint_total_time_msecs")
}

// meanBefore returns the mean over the interval before a time, second by second.
func meanBefore(step time.Duration, of func(s float64) float64) func(s float64) float64 {
	n := int(step.Seconds())
	return func(s float64) float64 {
		sum := 0.0
		for k := range n {
			sum += of(s - float64(k))
		}
		return sum / float64(n)
	}
}

func between(s, every, from, to float64) bool {
	at := math.Mod(s, every)
	return at >= from && at < to
}

// wants fails unless one of the rules is found, none of the others is, and the verdict does not claim
// that all was calm.
func wants(t *testing.T, r *diagnose.Report, one []string, none ...string) {
	t.Helper()
	found := false
	for _, rule := range one {
		found = found || foundAnywhere(r, rule) != nil
	}
	if !found || strings.HasPrefix(r.Verdict, "No stall") {
		t.Errorf("none of %v is named: %s", one, r.Verdict)
	}
	for _, rule := range none {
		if f := foundAnywhere(r, rule); f != nil && f.Severity != diagnose.Info {
			t.Errorf("%s is named, which is wrong: %s", rule, f.Summary)
		}
	}
}

// Checkpoints of 31 s at 3,000 IOPS of 16 KiB: 48 MB/s, 98 % busy, 12.5 ms per request. Writes take 200
// ms meanwhile, otherwise 15 ms.
func TestCheckpointsAtTheCap(t *testing.T) {
	in := func(s float64) bool { return between(s, 60, 0, 31) }
	volume := func(s float64) did {
		if in(s) {
			n := 3000 * jitter(s, "n", 0.01)
			return did{reads: 0.02 * n, writes: 0.98 * n, readKiB: 16, writeKiB: 16, readS: 0.0125, writeS: 0.0125, busy: 0.98}
		}
		return did{reads: 60, writes: 900 * jitter(s, "n", 0.1), readKiB: 16, writeKiB: 16, readS: 0.0008, writeS: 0.0009, busy: 0.35}
	}

	latency := func(s float64) float64 {
		if in(s) {
			return 0.11 * jitter(s, "l", 0.2)
		}
		return 0.006 * jitter(s, "l", 0.2)
	}

	rate := func(s float64) float64 { return 1500 * jitter(s, "r", 0.05) }
	for _, step := range []time.Duration{time.Second, 15 * time.Second} {
		t.Run(step.String(), func(t *testing.T) {
			r := forms(t, step, time.Hour).mongod(rate, latency).checkpoints(31).
				wiredTiger(5e9, func(float64) float64 { return 0.8 }, func(s float64) float64 { return 0.3 * math.Mod(s+29, 60) / 60 }, func(float64) float64 { return 0 }).
				node("nvme1n1", volume).diagnose(diagnose.Options{})
			show(t, step.String(), r)
			wants(t, r, []string{"wiredtiger/checkpoint-stall", "disk/iops-capped"}, "disk/not-the-cause")
		})
	}

	r := iostat(t, 10*time.Second, time.Hour, "nvme1n1", volume)
	show(t, "iostat alone", r)
	wants(t, r, []string{"disk/iops-capped"})
}

// A cache is 95.5 % full, and application threads evict from it at each checkpoint: writes take 200 ms
// for 2 to 5 s of each minute, on a volume with headroom.
func TestCachePressureAtCheckpoints(t *testing.T) {
	in := func(s float64) bool { return between(s, 60, 55, 60) }
	rise := func(most float64) func(s float64) float64 {
		return func(s float64) float64 { return most * math.Mod(s, 60) / 60 }
	}
	evicted := func(s float64) float64 {
		switch {
		case in(s):
			return 12.8
		case between(s, 60, 40, 55):
			return 3.2
		}
		return 0.2
	}

	latency := func(s float64) float64 {
		if in(s) {
			return 0.06 * jitter(s, "l", 0.2)
		}
		return 0.0035 * jitter(s, "l", 0.15)
	}

	volume := func(s float64) did {
		n := 700 * jitter(s, "n", 0.1)
		if between(s, 60, 0, 5) {
			n *= 2.2
		}
		return did{reads: 150, writes: n, readKiB: 16, writeKiB: 20, readS: 0.0007, writeS: 0.0010, busy: 0.3}
	}

	for _, step := range []time.Duration{time.Second, 15 * time.Second, time.Minute} {
		t.Run(step.String(), func(t *testing.T) {
			// An exporter's counters include everything between two samples.
			mean := func(of func(s float64) float64) func(s float64) float64 { return meanBefore(step, of) }
			r := forms(t, step, 2*time.Hour).mongod(func(s float64) float64 { return 2000 * jitter(s, "r", 0.02) }, mean(latency)).
				wiredTiger(15.5e9, func(float64) float64 { return 0.955 }, rise(0.055), mean(evicted)).node("nvme1n1", volume).diagnose(diagnose.Options{})
			show(t, "mongodb_exporter and node_exporter", r)
			wants(t, r, []string{"wiredtiger/app-eviction", "wiredtiger/cache-pressure"}, "disk/iops-capped", "disk/throughput-capped")
			noMoreVolume(t, r)
		})
	}
}

// An etcd member that makes one fdatasync after another, 1,105 per second at 0.7 to 1.4 ms each, keeps its
// volume busy all the time. More IOPS would not help.
func TestOneSyncAfterTheOther(t *testing.T) {
	edges := []string{"0.001", "0.002", "0.004", "0.008", "0.016", "0.032", "0.064", "0.128", "0.256", "0.512", "1.024", "2.048", "4.096", "8.192"}
	under := func(s float64) bool { return s >= 1200 && s < 2400 }
	rate := func(s float64) float64 {
		if under(s) {
			return 690 * jitter(s, "r", 0.02)
		}
		return 40 * jitter(s, "r", 0.1)
	}

	w := forms(t, 15*time.Second, time.Hour).histogram("etcd_disk_wal_fsync_duration_seconds", "10.0.0.1:2379", rate, edges, func(float64) []float64 {
		return []float64{0.3, 0.9, 0.995, 0.9995, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	}, func(float64) float64 { return 0.00142 }).node("nvme1n1", func(s float64) did {
		return did{writes: rate(s), writeKiB: 4, writeS: 0.00138, busy: min(0.985, rate(s)*0.00142)}
	})

	r := w.diagnose(diagnose.Options{})
	show(t, "etcd and node_exporter", r)
	if f := foundAnywhere(r, "disk/latency-bound"); f == nil {
		t.Errorf("that the latency is the limit is not said: %s", r.Verdict)
	}

	for _, rule := range []string{"disk/iops-capped", "disk/throughput-capped", "disk/burst-exhausted", "disk/machine-capped"} {
		if foundAnywhere(r, rule) != nil {
			t.Errorf("%s is named: %s", rule, r.Verdict)
		}
	}

	noMoreVolume(t, r)
}

// Documents grow for an hour: an update takes 2 ms at the beginning and 45 ms at the end, and the rate
// drops from 2,000 to 800 writes per second.
func TestBucketsThatGrow(t *testing.T) {
	late := func(s float64) float64 { return max(0, (math.Mod(s, 3600)-1800)/1500) }
	latency := func(s float64) float64 { return (0.002 + 0.043*min(1, late(s))) * jitter(s, "l", 0.1) }
	rate := func(s float64) float64 { return (2000 - 1200*min(1, late(s))) * jitter(s, "r", 0.03) }
	volume := func(s float64) did {
		n := (500 + 2300*min(1, late(s))) * jitter(s, "n", 0.05)
		return did{reads: 20, writes: n, readKiB: 16, writeKiB: 30, readS: 0.0007, writeS: 0.0009 + 0.004*min(1, late(s)), busy: min(0.97, 0.2+0.78*late(s))}
	}
	r := forms(t, 15*time.Second, 4*time.Hour).mongod(rate, latency).
		counter(func(s float64) float64 { return volume(s).writes * 30 * 1024 }, "mongodb_ss_wt_block_manager_bytes_written").
		counter(func(s float64) float64 { return rate(s) * 220 }, "mongodb_ss_wt_log_log_bytes_of_payload_data").
		node("nvme1n1", volume).diagnose(diagnose.Options{})
	show(t, "mongodb_exporter and node_exporter", r)
	wants(t, r, []string{"wiredtiger/write-amplification"}, "disk/not-the-cause")
}

// The write daemon of an IRIS writes 8,000 blocks per second while 12,000 are read, at the 16,000 IOPS
// of one volume. Its cycle takes 95 s.
func TestWriteDaemonAtTheCap(t *testing.T) {
	in := func(s float64) bool { return between(s, 95, 0, 60) }
	volume := func(s float64) did {
		if in(s) {
			n := 16000 * jitter(s, "n", 0.003)
			return did{reads: n * 0.6, writes: n * 0.4, readKiB: 8, writeKiB: 8, readS: 0.0031, writeS: 0.0034, busy: 0.999}
		}
		n := 11000 * jitter(s, "n", 0.05)
		return did{reads: n, writes: 200, readKiB: 8, writeKiB: 8, readS: 0.0008, writeS: 0.0007, busy: 0.9}
	}

	w := forms(t, 15*time.Second, time.Hour).node("dm-0", volume).
		gauge(func(s float64) float64 { return 95000 * jitter(s, "c", 0.02) }, "iris_wd_cycle_time").
		gauge(func(float64) float64 { return 61000 }, "iris_wd_write_time").gauge(func(float64) float64 { return 9000 }, "iris_wdwij_time").
		gauge(func(s float64) float64 { return volume(s).readS * 1000 }, "iris_db_latency", "id", "DATA").
		gauge(func(s float64) float64 { return volume(s).writes }, "iris_phys_writes_per_sec").gauge(func(s float64) float64 { return volume(s).reads }, "iris_phys_reads_per_sec").
		gauge(func(s float64) float64 { return 42000 * jitter(s, "g", 0.05) }, "iris_glo_update_per_sec")

	r := w.diagnose(diagnose.Options{})
	show(t, "IRIS and node_exporter", r)
	wants(t, r, []string{"disk/iops-capped"}, "disk/not-the-cause")
	wants(t, r, []string{"iris/write-daemon-stall"})

	// It stalls while the volume is at its cap, not in the pauses.
	if f := foundAnywhere(r, "disk/slow-writes"); f == nil || !strings.Contains(f.Summary, "median 3.4") || !strings.Contains(f.Summary, "otherwise 7") {
		t.Errorf("stalled and usual latency: %+v", f)
	}
}
