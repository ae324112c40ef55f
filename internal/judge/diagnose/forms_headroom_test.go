package diagnose_test

import (
	"math"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/headroom"
)

// left returns what a report says about a limit.
func left(t *testing.T, r *diagnose.Report, resource string) headroom.Headroom {
	t.Helper()
	for _, h := range r.Headroom {
		if h.Resource == resource {
			if h.Limit == nil || h.Most == nil || h.Most.Ratio == nil {
				t.Fatalf("%s: %+v", resource, h)
			}
			return h
		}
	}
	t.Fatalf("no %s in %+v", resource, r.Headroom)
	return headroom.Headroom{}
}

func about(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got/want-1) <= 0.04) {
		t.Errorf("%s: %v, not about %v", what, got, want)
	}
}

// A PostgreSQL server has a checkpoint every five minutes, paced over 270 s. It writes 450 MB of WAL between
// two of them, and 565 MB would request one. It uses 80 of 100 connections, and its oldest transaction
// ID has an age of 193.6 million; at 200 million everything is frozen.
func TestHeadroomOfPostgres(t *testing.T) {
	always := func(x float64) func(float64) float64 { return func(float64) float64 { return x } }
	each := func(at, amount float64) func(s float64) float64 { // of a counter, each five minutes
		return func(s float64) float64 {
			if math.Mod(s, 300) == at {
				return amount / 15
			}
			return 0
		}
	}

	r := forms(t, 15*time.Second, time.Hour).postgres(always(1000), always(3)).
		gauge(always(57), "pg_stat_activity_count", "datname", "shop", "state", "idle in transaction").
		counter(always(1.5e6), "pg_stat_wal_wal_bytes").
		counter(each(0, 1), "pg_stat_bgwriter_checkpoints_timed_total").counter(each(600, 0), "pg_stat_bgwriter_checkpoints_req_total").
		counter(each(270, 268e3), "pg_stat_bgwriter_checkpoint_write_time_total").counter(each(270, 2e3), "pg_stat_bgwriter_checkpoint_sync_time_total").
		gauge(always(1<<30), "pg_settings_max_wal_size_bytes").gauge(always(0.9), "pg_settings_checkpoint_completion_target").
		gauge(always(300), "pg_settings_checkpoint_timeout_seconds").gauge(always(100), "pg_settings_max_connections").
		gauge(always(200e6), "pg_settings_autovacuum_freeze_max_age").
		gauge(func(s float64) float64 { return 190e6 + 1000*s }, "pg_database_wraparound_age_datfrozenxid_seconds", "datname", "shop").
		diagnose(diagnose.Options{})

	wal := left(t, r, "wal_since_checkpoint")
	about(t, "WAL between checkpoints", wal.Most.Value, 450e6)
	about(t, "WAL that requests one", *wal.Limit, (1<<30)/1.9)
	about(t, "a checkpoint's time", left(t, r, "checkpoint_time").Most.Value, 270)
	about(t, "sessions", *left(t, r, "connections").Most.Ratio, 0.8)
	about(t, "the age", left(t, r, "freeze_age").Most.Value, 193.6e6)
}

// An IRIS server whose write daemon uses 64 of the 80 s in its cycle, on a disk that fills up.
func TestHeadroomOfIRIS(t *testing.T) {
	r := forms(t, 15*time.Second, 2*time.Hour).
		gauge(func(float64) float64 { return 64000 }, "iris_wd_cycle_time").gauge(func(float64) float64 { return 40000 }, "iris_wd_write_time").
		gauge(func(s float64) float64 { return 90 + s/3600 }, "iris_disk_percent_full", "id", "USER", "dir", "/data/user/").
		node("nvme1n1", func(float64) did {
			return did{reads: 100, writes: 100, readKiB: 8, writeKiB: 8, readS: 0.0007, writeS: 0.0008, busy: 0.1}
		}).diagnose(diagnose.Options{})
	about(t, "the cycle", *left(t, r, "write_daemon_cycle").Most.Ratio, 0.8)
	if h := left(t, r, "database_space"); h.Ends == nil {
		t.Errorf("the space has no end: %+v", h.Trend)
	} else {
		about(t, "seconds until it is full", h.Ends.InS, 8*3600)
	}
}
