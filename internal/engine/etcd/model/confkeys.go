package model

import "plimsoll/internal/model/scenario"

// configKeys are the keys of etcd's configuration file, which are its flags without dashes (etcd 3.6,
// server/embed/config.go: bare durations of heartbeat and election are milliseconds, others nanoseconds).
var configKeys = []scenario.ConfigKey{
	{Name: "quota-backend-bytes", Key: "quota", Unit: "B"},
	{Name: "heartbeat-interval", Key: "heartbeat", Unit: "ms"},
	{Name: "election-timeout", Key: "election", Unit: "ms"},
	{Name: "snapshot-count", Key: "snapshot_count"},
	{Name: "snapshot-catchup-entries", Key: "catchup_entries"},
	{Name: "experimental-snapshot-catchup-entries", Key: "catchup_entries"},
	{Name: "backend-batch-interval", Key: "batch_interval", Unit: "ns"},
	{Name: "backend-batch-limit", Key: "batch_limit"},
	// Where files are, who may connect and when history is dropped do not change the model's writes.
	{Name: "name"}, {Name: "data-dir"}, {Name: "wal-dir"}, {Name: "listen-client-urls"},
	{Name: "advertise-client-urls"}, {Name: "listen-peer-urls"}, {Name: "initial-advertise-peer-urls"},
	{Name: "initial-cluster"}, {Name: "initial-cluster-state"}, {Name: "initial-cluster-token"},
	{Name: "auto-compaction-mode"}, {Name: "auto-compaction-retention"}, {Name: "max-request-bytes"},
}
