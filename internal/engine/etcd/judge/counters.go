package judge

import "plimsoll/internal/judge/rules"

// counters are the counters that `watch` exports unchanged.
var counters = []rules.Counter{
	{Metric: "etcd_disk_wal_fsync_duration_seconds_sum", Name: "plimsoll_etcd_wal_fsync_seconds_total",
		Label: "instance", As: "member", Scale: 1,
		Help: "Total time spent in fdatasync of etcd's WAL."},
	{Metric: "etcd_disk_wal_fsync_duration_seconds_count", Name: "plimsoll_etcd_wal_fsyncs_total",
		Label: "instance", As: "member", Scale: 1,
		Help: "Number of fdatasync calls on etcd's WAL."},
}
