package judge

// Signals that mostly describe the deployment and its load; `fit` needs them to build a scenario
// from a recording.
var (
	WALWritten = signal("etcd_wal_written:bytes", "bytes/s", "bytes written to the WAL per second",
		`irate(etcd_disk_wal_write_bytes_total[$w])`)
	Ranges = signal("etcd_ranges:rate", "1/s", "ranges read per second",
		`irate(etcd_mvcc_range_total[$w])`)
	// A negative --quota-backend-bytes disables the quota, but the gauge keeps the number (etcd 3.4
	// to 3.8, server/storage/quota.go, NewBackendQuota).
	Quota = signal("etcd_quota:bytes", "bytes", "the database's quota",
		`etcd_server_quota_backend_bytes > 0`)
	QuotaSetting = signal("etcd_quota_setting:bytes",
		"bytes", "--quota-backend-bytes; zero or less means no quota",
		`etcd_server_quota_backend_bytes`)
	DatabaseSize = signal("etcd_database_size:bytes",
		"bytes", "size of the database's file, which counts against the quota",
		`etcd_mvcc_db_total_size_in_bytes`,
		`etcd_debugging_mvcc_db_total_size_in_bytes`)
	PeerRoundTrip = signal("etcd_peer_round_trip:seconds", "seconds", "mean round trip between members",
		`sum by (instance) (irate(etcd_network_peer_round_trip_time_seconds_sum[$w])) / sum by (instance) (irate(etcd_network_peer_round_trip_time_seconds_count[$w]))`)
)
