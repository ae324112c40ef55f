package diagnose_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
)

// An Amazon RDS instance on gp2 runs out of burst credits: 2,500 IOPS at 1 ms, then 300 at 80 ms, as
// CloudWatch's averages show.
func TestCreditsOfRDSRunOut(t *testing.T) {
	const out = 2 * 3600.0
	iops := func(s float64) float64 {
		if s > out {
			return 300 * jitter(s, "i", 0.004)
		}
		return 2500 * jitter(s, "i", 0.05)
	}

	latency := func(s float64) float64 {
		if s > out {
			return 0.08 * jitter(s, "l", 0.1)
		}
		return 0.001 * jitter(s, "l", 0.1)
	}

	for _, label := range []string{"dbinstance_identifier", "dimension_DBInstanceIdentifier"} {
		w := forms(t, time.Minute, 6*time.Hour)
		for name, of := range map[string]func(s float64) float64{
			"read_iops": func(s float64) float64 { return 0.6 * iops(s) }, "write_iops": func(s float64) float64 { return 0.4 * iops(s) },
			"read_throughput": func(s float64) float64 { return 0.6 * iops(s) * 16384 }, "write_throughput": func(s float64) float64 { return 0.4 * iops(s) * 16384 },
			"read_latency": latency, "write_latency": latency, "disk_queue_depth": func(s float64) float64 { return iops(s) * latency(s) },
			"burst_balance":  func(s float64) float64 { return max(0, 80*(1-s/out)) },
			"cpuutilization": func(s float64) float64 { return 30 * jitter(s, "c", 0.1) },
		} {
			w.gauge(of, "aws_rds_"+name+"_average", label, "shop-db")
		}

		r := w.diagnose(diagnose.Options{})
		show(t, label, r)
		wants(t, r, []string{"disk/burst-exhausted"}, "disk/degraded", "disk/not-the-cause", "host/cpu-saturated")
	}
}

// The WAL of an RDS instance is on a dedicated log volume, which is at its 3,000 IOPS for ten minutes
// of each hour, while the data volume is as fast as usual. The log's volume is named, and no command
// would raise the data volume's limits.
func TestLogVolumeOfRDSIsFull(t *testing.T) {
	in := func(s float64) bool { return between(s, 3600, 1200, 1800) }
	iops := func(s float64) float64 {
		if in(s) {
			return 3000 * jitter(s, "i", 0.004)
		}
		return 900 * jitter(s, "i", 0.1)
	}

	latency := func(s float64) float64 {
		if in(s) {
			return 0.09 * jitter(s, "l", 0.1)
		}
		return 0.0009 * jitter(s, "l", 0.1)
	}

	w := forms(t, time.Minute, 6*time.Hour)
	for name, of := range map[string]func(s float64) float64{
		"read_iops": func(s float64) float64 { return 500 * jitter(s, "r", 0.1) }, "write_iops": func(s float64) float64 { return 400 * jitter(s, "w", 0.1) },
		"read_throughput": func(s float64) float64 { return 5e6 }, "write_throughput": func(s float64) float64 { return 4e6 },
		"read_latency": func(s float64) float64 { return 0.0008 * jitter(s, "a", 0.1) }, "write_latency": func(s float64) float64 { return 0.0009 * jitter(s, "b", 0.1) },
		"disk_queue_depth":    func(s float64) float64 { return 0.8 * jitter(s, "q", 0.1) },
		"read_iopslog_volume": func(s float64) float64 { return 1 }, "write_iopslog_volume": iops,
		"read_throughput_log_volume": func(s float64) float64 { return 4096 }, "write_throughput_log_volume": func(s float64) float64 { return iops(s) * 8192 },
		"read_latency_log_volume": func(s float64) float64 { return 0.0008 }, "write_latency_log_volume": latency,
		"disk_queue_depth_log_volume": func(s float64) float64 { return iops(s) * latency(s) },
	} {
		w.gauge(of, "aws_rds_"+name+"_average", "dbinstance_identifier", "shop-db")
	}

	r := w.diagnose(diagnose.Options{})
	show(t, "log volume", r)
	wants(t, r, []string{"disk/iops-capped"}, "disk/not-the-cause")
	for _, f := range r.Findings {
		if f.Rule == "disk/iops-capped" && f.Subject != "shop-db-log-volume" {
			t.Errorf("it is %s that is capped: %s", f.Subject, f.Summary)
		}
	}

	for _, a := range r.Actions {
		if text := fmt.Sprint(a); strings.Contains(text, "modify-db-instance") {
			t.Errorf("a command changes the data's volume: %s", text)
		}
	}
}

// A PostgreSQL server whose checkpoints leave all writing to their fsync: for 20 s of every five minutes,
// commits fall from 5,000 to 800 per second.
func TestCheckpointsInOneGo(t *testing.T) {
	in := func(s float64) bool { return between(s, 300, 255, 275) }
	commits := func(s float64) float64 {
		if in(s) {
			return 800 * jitter(s, "c", 0.1)
		}
		return 5000 * jitter(s, "c", 0.03)
	}

	volume := func(s float64) did {
		if in(s) {
			n := 1900 * jitter(s, "n", 0.05)
			return did{reads: 50, writes: n, readKiB: 8, writeKiB: 66, readS: 0.02, writeS: 60 / n, busy: 0.998}
		}
		return did{reads: 80, writes: 900, readKiB: 8, writeKiB: 12, readS: 0.0006, writeS: 0.0008, busy: 0.35}
	}

	once := func(amount float64, step time.Duration) func(s float64) float64 {
		return func(s float64) float64 {
			if at := math.Mod(s, 300); at >= 275 && at < 275+step.Seconds() {
				return amount / step.Seconds()
			}
			return 0
		}
	}

	for _, step := range []time.Duration{time.Second, 15 * time.Second} {
		w := forms(t, step, time.Hour).postgres(commits, func(s float64) float64 {
			if in(s) {
				return math.Round(60 * jitter(s, "a", 0.1))
			}
			return math.Round(6 * jitter(s, "a", 0.2))
		}).node("nvme1n1", volume).
			counter(once(1, step), "pg_stat_bgwriter_checkpoints_timed_total").counter(func(float64) float64 { return 0 }, "pg_stat_bgwriter_checkpoints_req_total").
			counter(once(2e3, step), "pg_stat_bgwriter_checkpoint_write_time_total").counter(once(19e3, step), "pg_stat_bgwriter_checkpoint_sync_time_total").
			counter(once(300e3, step), "pg_stat_bgwriter_buffers_checkpoint_total")

		r := w.diagnose(diagnose.Options{})
		show(t, step.String(), r)
		wants(t, r, []string{"postgres/checkpoint-burst"}, "disk/not-the-cause", "disk/degraded")
	}
}

// For two hours, one of three members' volumes takes 9 ms per write. At the same load, the other two
// take 0.8 ms, and so did this one before.
func TestOneVolumeIsDegraded(t *testing.T) {
	for _, step := range []time.Duration{15 * time.Second, time.Minute} {
		w := forms(t, step, 8*time.Hour)
		for k := 1; k <= 3; k++ {
			id := fmt.Sprintf("nvme%dn1", k)
			w.node(id, func(s float64) did {
				each, busy := 0.0008*jitter(s, id, 0.1), 0.25
				if k == 2 && s >= 3*3600 && s < 5*3600 {
					each, busy = 0.009*jitter(s, id, 0.2), 0.93
				}
				return did{reads: 40, writes: 310 * jitter(s, id, 0.05), readKiB: 8, writeKiB: 16, readS: each, writeS: each, busy: busy}
			})
		}

		r := w.diagnose(diagnose.Options{})
		show(t, step.String(), r)

		// The others are as fast as usual, so the cause is not a host's burst limit.
		wants(t, r, []string{"disk/degraded"}, "disk/instance-burst-exhausted", "disk/iops-capped", "disk/throughput-capped", "disk/machine-capped")
		if f := foundAnywhere(r, "disk/degraded"); f == nil || f.SupportCase == nil || !strings.Contains(f.Summary, "nvme1n1 and nvme3n1 served requests at their usual speed") {
			t.Errorf("the peers are not compared: %+v", f)
		}

		noMoreVolume(t, r)
	}
}

// An instance's burst runs out after half an hour: at the same load, a request takes ten times as long
// for the rest of the day, as CloudWatch's balance shows.
func TestInstanceBurstIsUsedUp(t *testing.T) {
	volume := func(s float64) did {
		n := 5600 * jitter(s, "n", 0.03)
		if s > 5400 {
			n = 3600 * jitter(s, "n", 0.004)
			return did{reads: n / 2, writes: n / 2, readKiB: 16, writeKiB: 16, readS: 30 / n, writeS: 30 / n, busy: 0.998}
		}
		return did{reads: n / 2, writes: n / 2, readKiB: 16, writeKiB: 16, readS: 0.0008, writeS: 0.0009, busy: 0.8}
	}

	balance := func(s float64) float64 { return max(0, 99*(1-max(0, s-3600)/1800)) }
	r := forms(t, time.Minute, 8*time.Hour).cloudwatch("vol-0a1b2c3d4e5f60718", volume).
		gauge(balance, "aws_ec2_ebsiobalance__average", "instance_id", "i-0123456789abcdef0").diagnose(diagnose.Options{})
	show(t, "CloudWatch", r)
	wants(t, r, []string{"disk/instance-burst-exhausted"}, "disk/degraded", "disk/not-the-cause")

	for _, a := range r.Actions {
		if strings.Contains(a.Remedy, "raise-iops") {
			t.Errorf("more IOPS of the volume are proposed: %s", a.Title)
		}
	}
}
