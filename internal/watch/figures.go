package watch

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"plimsoll/internal/record/recording"
)

// A figure is a counter or gauge of a source that is passed on as it is: how a database's storage is used, which its own
// exporter may not tell or nobody may run. A Prometheus that asks every 15 s takes rates of them.
type figure struct {
	name  string // as passed on
	help  string
	gauge bool
	// scale makes the unit of what is passed on from what the source tells.
	scale float64
	// label is the source's label that is passed on, and as is its name there; empty for none.
	label, as string
}

// figureOf are the figures by the metric they are read from.
var figureOf = map[string]figure{
	"mongodb_ss_opLatencies_latency": {name: "plimsoll_mongodb_operation_latency_seconds_total", label: "op_type", as: "operation", scale: 1e-6,
		help: "Time that operations of clients took, summed over them (serverStatus.opLatencies)."},
	"mongodb_ss_opLatencies_ops": {name: "plimsoll_mongodb_operations_total", label: "op_type", as: "operation", scale: 1,
		help: "Operations of clients that completed (serverStatus.opLatencies)."},
	"mongodb_ss_wt_block_manager_bytes_read": {name: "plimsoll_wiredtiger_block_manager_read_bytes_total", scale: 1,
		help: "Bytes that WiredTiger read from its files."},
	"mongodb_ss_wt_block_manager_bytes_written": {name: "plimsoll_wiredtiger_block_manager_written_bytes_total", scale: 1,
		help: "Bytes that WiredTiger wrote to its files."},
	"mongodb_ss_wt_block_manager_bytes_written_for_checkpoint": {name: "plimsoll_wiredtiger_block_manager_checkpoint_written_bytes_total", scale: 1,
		help: "Bytes of those written that checkpoints wrote."},
	"mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache": {name: "plimsoll_wiredtiger_cache_dirty_bytes", gauge: true, scale: 1,
		help: "Bytes of WiredTiger's cache that are not in its files yet."},
	"mongodb_ss_wt_cache_bytes_currently_in_the_cache": {name: "plimsoll_wiredtiger_cache_used_bytes", gauge: true, scale: 1,
		help: "Bytes in WiredTiger's cache."},
	"mongodb_ss_wt_cache_maximum_bytes_configured": {name: "plimsoll_wiredtiger_cache_size_bytes", gauge: true, scale: 1,
		help: "Size of WiredTiger's cache."},
	"etcd_disk_wal_fsync_duration_seconds_sum": {name: "plimsoll_etcd_wal_fsync_seconds_total", label: "instance", as: "member", scale: 1,
		help: "Time that fdatasync of etcd's WAL took, summed."},
	"etcd_disk_wal_fsync_duration_seconds_count": {name: "plimsoll_etcd_wal_fsyncs_total", label: "instance", as: "member", scale: 1,
		help: "Calls of fdatasync of etcd's WAL."},
	"node_disk_io_time_seconds_total": {name: "plimsoll_device_busy_seconds_total", label: "device", as: "device", scale: 1,
		help: "Time that a device had requests under way."},
	"node_disk_written_bytes_total": {name: "plimsoll_device_written_bytes_total", label: "device", as: "device", scale: 1,
		help: "Bytes written to a device."},
	"node_disk_writes_completed_total": {name: "plimsoll_device_writes_total", label: "device", as: "device", scale: 1,
		help: "Writes that a device completed."},
	"node_disk_write_time_seconds_total": {name: "plimsoll_device_write_seconds_total", label: "device", as: "device", scale: 1,
		help: "Time that writes of a device took, summed over them."},
	"mongodb_sys_disks_io_time_ms": {name: "plimsoll_device_busy_seconds_total", label: "device_name", as: "device", scale: 1e-3,
		help: "Time that a device had requests under way."},
	"mongodb_sys_disks_write_sectors": {name: "plimsoll_device_written_bytes_total", label: "device_name", as: "device", scale: 512,
		help: "Bytes written to a device."},
	"mongodb_sys_disks_writes": {name: "plimsoll_device_writes_total", label: "device_name", as: "device", scale: 1,
		help: "Writes that a device completed."},
	"mongodb_sys_disks_write_time_ms": {name: "plimsoll_device_write_seconds_total", label: "device_name", as: "device", scale: 1e-3,
		help: "Time that writes of a device took, summed over them."},
}

// isFigure reports whether a metric is one that is passed on.
func isFigure(metric string) bool { _, ok := figureOf[metric]; return ok }

// figureSeriesMax bounds the series that are passed on of one source: a host may have thousands of devices.
const figureSeriesMax = 256

// figures are the newest values of a source's figures.
type figures struct {
	mu     sync.Mutex
	values map[figureKey]float64
}

type figureKey struct{ metric, label string }

// take remembers the newest values of a batch. A source that tells two series alike but for other labels
// is believed in the first one.
func (f *figures) take(b *recording.Batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.values == nil {
		f.values = map[figureKey]float64{}
	}
	seen := map[figureKey]bool{}
	for _, c := range b.Columns {
		metric := c.Labels.Get("__name__")
		fig, ok := figureOf[metric]
		if !ok {
			continue
		}
		key := figureKey{metric: metric}
		if fig.label != "" {
			key.label = c.Labels.Get(fig.label)
		}
		v := c.Values[len(c.Values)-1]
		if _, known := f.values[key]; v != v || seen[key] || (!known && len(f.values) >= figureSeriesMax) {
			continue
		}
		seen[key] = true
		f.values[key] = v
	}
}

// collect gives the figures as metrics of the source.
func (f *figures) collect(source string, ch chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	keys := make([]figureKey, 0, len(f.values))
	for k := range f.values {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b figureKey) int {
		return strings.Compare(a.metric+"\x00"+a.label, b.metric+"\x00"+b.label)
	})
	given := map[figureKey]bool{}
	for _, k := range keys {
		fig := figureOf[k.metric]
		// A source that tells a device under both names, as FTDC and node_exporter would, gives it once.
		id := figureKey{fig.name, k.label}
		if given[id] {
			continue
		}
		given[id] = true
		names, values := []string{"source"}, []string{source}
		if fig.label != "" {
			names, values = append(names, fig.as), append(values, k.label)
		}
		kind := prometheus.CounterValue
		if fig.gauge {
			kind = prometheus.GaugeValue
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(fig.name, fig.help, names, nil), kind, f.values[k]*fig.scale, values...)
	}
}
