package diagnose_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/judge/rules"
)

// For 40 s a volume completes 200 requests per second instead of the usual 900, at constant demand, and
// then 900 again: it is degraded. It is not a limit, at which it would stay, and not a problem of the
// journal, which is waiting for it. If it stays at 200 to the end, a limit may be the cause.
func TestVolumeDropsAtConstantDemand(t *testing.T) {
	run := func(to float64) *diagnose.Report {
		in := func(s float64) bool { return s >= 600 && s < to }
		pick := func(a, b func(s float64) float64) func(s float64) float64 {
			return func(s float64) float64 {
				if in(s) {
					return a(s)
				}
				return b(s)
			}
		}

		is := func(x float64) func(float64) float64 { return func(float64) float64 { return x } }
		ops, latency := pick(is(60), func(s float64) float64 { return 800 * jitter(s, "ops", 0.05) }), pick(is(0.9), is(0.002))
		return forms(t, time.Second, 20*time.Minute).
			counter(ops, "mongodb_ss_opLatencies_ops", "op_type", "writes").
			counter(func(s float64) float64 { return ops(s) * latency(s) * 1e6 }, "mongodb_ss_opLatencies_latency", "op_type", "writes").
			counter(pick(is(4), is(150)), "mongodb_ss_wt_log_log_sync_operations").
			counter(pick(is(990_000), is(225_000)), "mongodb_ss_wt_log_log_sync_time_duration_usecs").
			node("nvme1n1", func(s float64) did {
				if n := 200 * jitter(s, "n", 0.01); in(s) {
					return did{writes: n, writeKiB: 16, writeS: 40 / n, busy: 0.999}
				}
				return did{writes: 900 * jitter(s, "n", 0.06), writeKiB: 16, writeS: 0.0009, busy: 0.5}
			}).diagnose(diagnose.Options{})
	}

	r := run(640)
	if r.Findings[0].Rule != "disk/degraded" || r.Findings[0].Severity != rules.Critical {
		t.Errorf("first is %s: %s", r.Findings[0].Rule, r.Verdict)
	}

	wants(t, r, []string{"disk/degraded"}, "disk/iops-capped", "wiredtiger/journal-stall", "disk/not-the-cause")
	noMoreVolume(t, r)
	if f := foundAnywhere(r, "wiredtiger/journal-stall"); f == nil || !strings.Contains(f.Summary, "the journal waits for it") {
		t.Errorf("the journal: %+v", f)
	}

	if f := foundAnywhere(run(1300), "disk/iops-capped"); f == nil || f.Severity == rules.Info {
		t.Errorf("it stays at 200 IOPS to the end, and no cap is considered: %+v", f)
	}
}

// The machine's byte credits run out and its request credits do not. The cause is the machine's
// throughput, and neither the volume's burst nor its limit. Without the balances, only the volume's
// figures are known.
func TestByteBalanceIsSpent(t *testing.T) {
	volume := func(s float64) did {
		n, each, busy := 1800*jitter(s, "n", 0.03), 0.0008, 0.8
		if s > 5400 {
			n, busy = 900*jitter(s, "n", 0.004), 0.998
			each = 30 / n
		}
		return did{reads: n / 2, writes: n / 2, readKiB: 128, writeKiB: 128, readS: each, writeS: each, busy: busy}
	}

	balance := func(s float64) float64 { return max(0, 99*(1-max(0, s-3600)/1800)) }
	full := func(float64) float64 { return 100 }
	const id, bytes, ios = "i-0123456789abcdef0", "aws_ec2_ebsbyte_balance__average", "aws_ec2_ebsiobalance__average"
	cloudwatch := func() *written {
		return forms(t, time.Minute, 8*time.Hour).cloudwatch("vol-0a1b2c3d4e5f60718", volume)
	}

	r := cloudwatch().gauge(balance, bytes, "instance_id", id).gauge(full, ios, "instance_id", id).diagnose(diagnose.Options{})
	wants(t, r, []string{"disk/instance-burst-exhausted"}, "disk/burst-exhausted", "disk/throughput-capped", "disk/iops-capped", "disk/always-busy", "disk/degraded")
	if f := foundAnywhere(r, "disk/instance-burst-exhausted"); f == nil || !strings.Contains(f.Summary, "the machine's throughput burst is used up, not one of the volume") {
		t.Errorf("%+v", f)
	}

	r = cloudwatch().gauge(full, bytes, "instance_id", id).gauge(full, ios, "instance_id", id).diagnose(diagnose.Options{})
	if f := foundAnywhere(r, "disk/instance-burst-exhausted"); f != nil && strings.Contains(f.Summary, "balance was spent") {
		t.Errorf("with full balances: %s", f.Summary)
	}

	if r = cloudwatch().diagnose(diagnose.Options{}); foundAnywhere(r, "disk/burst-exhausted") == nil {
		t.Errorf("without balances: %s", r.Verdict)
	}
}

// A volume is slow for three minutes every three hours, at constant IOPS. The finding says that it
// recurs and, if the volume's type has no credits, that credits are not the cause.
func TestSpikesWithoutCredits(t *testing.T) {
	rate := rules.Rate{IOPS: 3000, Throughput: 125 << 20}
	run := func(volume headroom.Volume, slow func(s float64) bool) string {
		offer := func(int64) (headroom.Volume, error) { return volume, nil }
		r := forms(t, 15*time.Second, 24*time.Hour).node("nvme1n1", func(s float64) did {
			n := 700 * jitter(s, "n", 0.03)
			if slow(s) {
				return did{reads: n / 2, writes: n / 2, readKiB: 16, writeKiB: 16, readS: 0.03, writeS: 0.03, busy: 0.99}
			}
			return did{reads: n / 2, writes: n / 2, readKiB: 16, writeKiB: 16, readS: 0.0008, writeS: 0.0009, busy: 0.4}
		}).diagnose(diagnose.Options{Known: headroom.Known{Volumes: map[string]headroom.Offer{"nvme1n1": offer}}})

		f := foundAnywhere(r, "disk/degraded")
		if f == nil {
			t.Fatalf("%s: %s", volume.Text, r.Verdict)
		}

		return f.Summary
	}

	often := func(s float64) bool { return math.Mod(s, 10800) > 10500-180 && math.Mod(s, 10800) < 10500 }
	gp3 := headroom.Volume{Text: "gp3 of 500 GiB", Sustained: rate, Burst: rate}
	gp2 := headroom.Volume{Text: "gp2 of 500 GiB", Sustained: rules.Rate{IOPS: 1500, Throughput: 125 << 20}, Burst: rate, Credits: 5_400_000}

	const recurs, no = "It recurs every 3h", "has no burst credits"
	if said := run(gp3, often); !strings.Contains(said, recurs) || !strings.Contains(said, "gp3 of 500 GiB "+no) {
		t.Errorf("gp3: %s", said)
	}

	if said := run(gp2, often); !strings.Contains(said, recurs) || strings.Contains(said, no) {
		t.Errorf("gp2: %s", said)
	}

	if said := run(gp3, func(s float64) bool { return s > 40000 && s < 41000 }); strings.Contains(said, "recurs") {
		t.Errorf("once: %s", said)
	}
}

// The same load is slow for most of the day and fast for 40 minutes every 24 hours, because of an
// instance's burst. If the load is lower in the fast time, if that time is irregular, or if the
// recording covers one day only, the cause is unknown.
func TestFastForAWhileEachDay(t *testing.T) {
	run := func(days int, share float64, fast func(s float64) bool) *diagnose.Finding {
		r := forms(t, time.Minute, time.Duration(days)*24*time.Hour).node("nvme1n1", func(s float64) did {
			n := 2000 * jitter(s, "n", 0.03)
			if fast(s) {
				return did{reads: share * n / 2, writes: share * n / 2, readKiB: 16, writeKiB: 16, readS: 0.0008, writeS: 0.0009, busy: 0.7}
			}
			return did{reads: n / 2, writes: n / 2, readKiB: 16, writeKiB: 16, readS: 0.006, writeS: 0.007, busy: 0.99}
		}).diagnose(diagnose.Options{})

		f := foundAnywhere(r, "disk/instance-burst-exhausted")
		if f != nil && strings.Contains(f.Summary, "each day") {
			return f
		}

		return nil
	}

	daily := func(s float64) bool { return math.Mod(s, 86400) < 2400 }
	if f := run(3, 1, daily); f == nil || !strings.Contains(f.Summary, "for 40m each day") {
		t.Errorf("each day: %+v", f)
	}

	for name, f := range map[string]*diagnose.Finding{
		"with less to do": run(3, 0.3, daily),
		"at any time":     run(3, 1, func(s float64) bool { return math.Mod(s*1.9, 86400*1.31) < 2400 }),
		"of one day":      run(1, 1, daily),
	} {
		if f != nil {
			t.Errorf("%s: %s", name, f.Summary)
		}
	}
}

// Commits halve for six minutes while all clients stay connected, and no latency is known. If the
// device's writes are slow then, and only then, each took longer, and no limit is blamed. If they are
// as fast as usual, or not measured, the cause stays open.
func TestCommitsHalveWhileTheOSFlushes(t *testing.T) {
	in := func(s float64) bool { return s >= 900 && s < 1260 }
	run := func(device func(s float64) did) *diagnose.Report {
		w := forms(t, 5*time.Second, 40*time.Minute).
			counter(func(s float64) float64 {
				if in(s) {
					return 400 * jitter(s, "c", 0.05)
				}
				return 900 * jitter(s, "c", 0.05)
			}, "pg_stat_database_xact_commit", "datname", "shop").
			counter(func(float64) float64 { return 0 }, "pg_stat_database_xact_rollback", "datname", "shop").
			gauge(func(float64) float64 { return 40 }, "pg_stat_database_numbackends", "datname", "shop")

		if device != nil {
			w.node("nvme1n1", device)
		}

		return w.diagnose(diagnose.Options{})
	}

	quick := func(s float64) did {
		return did{writes: 900 * jitter(s, "n", 0.05), writeKiB: 16, writeS: 0.0009, busy: 0.4}
	}
	r := run(func(s float64) did {
		if in(s) {
			return did{writes: 2400 * jitter(s, "n", 0.05), writeKiB: 32, writeS: 0.012, busy: 0.97}
		}
		return quick(s)
	})
	if !strings.Contains(r.Verdict, "and writes of nvme1n1 rose from 900 us to 12.0 ms: operations probably took longer") {
		t.Errorf("flushed: %s", r.Verdict)
	}

	wants(t, r, []string{"evidence/got-worse"}, "disk/iops-capped", "disk/throughput-capped")
	for name, r := range map[string]*diagnose.Report{"quick": run(quick), "not measured": run(nil)} {
		if !strings.Contains(r.Verdict, "either the load fell or operations took longer") {
			t.Errorf("%s: %s", name, r.Verdict)
		}
	}
}
