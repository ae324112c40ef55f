package judge

import "plimsoll/internal/judge/rules"

// counters are passed on by watching as they are.
var counters = []rules.Counter{
	{Metric: "mongodb_ss_opLatencies_latency", Name: "plimsoll_mongodb_operation_latency_seconds_total", Label: "op_type", As: "operation", Scale: 1e-6,
		Help: "Time that operations of clients took, summed over them (serverStatus.opLatencies)."},
	{Metric: "mongodb_ss_opLatencies_ops", Name: "plimsoll_mongodb_operations_total", Label: "op_type", As: "operation", Scale: 1,
		Help: "Operations of clients that completed (serverStatus.opLatencies)."},
	{Metric: "mongodb_ss_wt_block_manager_bytes_read", Name: "plimsoll_wiredtiger_block_manager_read_bytes_total", Scale: 1,
		Help: "Bytes that WiredTiger read from its files."},
	{Metric: "mongodb_ss_wt_block_manager_bytes_written", Name: "plimsoll_wiredtiger_block_manager_written_bytes_total", Scale: 1,
		Help: "Bytes that WiredTiger wrote to its files."},
	{Metric: "mongodb_ss_wt_block_manager_bytes_written_for_checkpoint", Name: "plimsoll_wiredtiger_block_manager_checkpoint_written_bytes_total", Scale: 1,
		Help: "Bytes of those written that checkpoints wrote."},
	{Metric: "mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache", Name: "plimsoll_wiredtiger_cache_dirty_bytes", Gauge: true, Scale: 1,
		Help: "Bytes of WiredTiger's cache that are not in its files yet."},
	{Metric: "mongodb_ss_wt_cache_bytes_currently_in_the_cache", Name: "plimsoll_wiredtiger_cache_used_bytes", Gauge: true, Scale: 1,
		Help: "Bytes in WiredTiger's cache."},
	{Metric: "mongodb_ss_wt_cache_maximum_bytes_configured", Name: "plimsoll_wiredtiger_cache_size_bytes", Gauge: true, Scale: 1,
		Help: "Size of WiredTiger's cache."},
	{Metric: "mongodb_sys_disks_io_time_ms", Name: "plimsoll_device_busy_seconds_total", Label: "device_name", As: "device", Scale: 1e-3,
		Help: "Time that a device had requests under way."},
	{Metric: "mongodb_sys_disks_write_sectors", Name: "plimsoll_device_written_bytes_total", Label: "device_name", As: "device", Scale: 512,
		Help: "Bytes written to a device."},
	{Metric: "mongodb_sys_disks_writes", Name: "plimsoll_device_writes_total", Label: "device_name", As: "device", Scale: 1,
		Help: "Writes that a device completed."},
	{Metric: "mongodb_sys_disks_write_time_ms", Name: "plimsoll_device_write_seconds_total", Label: "device_name", As: "device", Scale: 1e-3,
		Help: "Time that writes of a device took, summed over them."},
}
