// Package ftdc reads MongoDB's full-time diagnostic data capture: the folder
// diagnostic.data that every mongod and mongos since 3.2 keeps beside its data, about a
// week of samples of some thousand metrics, one a second.
//
// # Format
//
// A file is a row of BSON documents. Type 0 tells who the server is, type 2 how its settings
// changed, and type 1 is a [Chunk]: up to 300 samples, the first as a whole document, the
// others as differences, metric after metric, deflated. All values are int64: the server
// truncates what is not, and does not keep what is no number. metrics.interim is the chunk in
// progress, and may be torn.
//
// [Open] gives all of it as a source of time series; [NewScanner] gives one file's chunks and
// metadata exactly as stored.
//
// # What makes it fast
//
// Reading costs little more than inflating, because what does not change is not looked at.
// The reference documents of consecutive chunks differ in their values only, so their keys are
// compared, not walked ([Schema] is shared). Most metrics are constant for minutes, and a run of
// zeros is one number; they become columns of length one. Metrics nobody wants are passed
// over eight bytes at a time. Chunks are decoded on several cores and delivered in order.
//
// # Bounds
//
// A length in a file is a claim, not a fact. [MaxDocument], [MaxInflated], [MaxMetrics],
// [MaxSamples] and [MaxDepth] bound what is believed; memory grows with the bytes that come, not with
// the bytes promised; what is in flight at once is bounded in bytes. Where bytes are damaged, reading
// goes on at the next document that begins as one, and a note tells what is lost.
//
// # Names
//
// [MetricName] gives a metric the name that percona/mongodb_exporter gives it (v0.53.0,
// exporter/metrics.go), so that rules written for a Prometheus hold for a capture:
//
//   - The path's beginning is shortened: serverStatus.wiredTiger.transaction is ss_wt_txn,
//     serverStatus.wiredTiger is ss_wt, serverStatus.queues.execution (8.0 and later) is
//     ss_wt_concurrentTransactions as the tickets were called before, serverStatus is ss,
//     replSetGetStatus is rs, systemMetrics is sys, local.oplog.rs.stats is oplog_stats.
//   - All is joined by '_' behind "mongodb_"; each run of other characters than letters and digits is
//     one '_', none at the end. No unit or "_total" is added.
//   - Some keys become labels: op_type of opLatencies, txn_rw_type of the tickets, legacy_op_type of
//     opcounters, conn_type of connections, and so on.
//
// Beyond what the exporter does, the keys of disks (device_name), mounts (mount_point), replica set
// members (member_idx, their position) and pooled connections (host, pool) become labels, where
// the exporter would make a metric of each or does not export them. Two differences are deliberate: the
// exporter's tickets have the label txn_rw, and its disks are part of the metric's name.
//
// Builds of 8.x that put all sections under "shard", "router" or "common" get the same names. A key that
// occurs twice in a sample (two mounts of one name) has one series, of the first.
// The increment of a timestamp has the name of the timestamp and "_inc". On Windows systemMetrics
// holds performance counters: mongodb_sys_disks_PhysicalDisk_Disk_Write_Bytes_sec{device_name="0 C:"}.
//
// Names changed over the versions of MongoDB; [Aliases] tells which was used when.
package ftdc
