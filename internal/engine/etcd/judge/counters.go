package judge

import "plimsoll/internal/judge/rules"

// counters are passed on by watching as they are.
var counters = []rules.Counter{
	{Metric: "etcd_disk_wal_fsync_duration_seconds_sum", Name: "plimsoll_etcd_wal_fsync_seconds_total",
		Label: "instance", As: "member", Scale: 1,
		Help: "Time that fdatasync of etcd's WAL took, summed."},
	{Metric: "etcd_disk_wal_fsync_duration_seconds_count", Name: "plimsoll_etcd_wal_fsyncs_total",
		Label: "instance", As: "member", Scale: 1,
		Help: "Calls of fdatasync of etcd's WAL."},
}
