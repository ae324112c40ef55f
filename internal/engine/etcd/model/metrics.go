package model

import (
	"strconv"

	"plimsoll/internal/model/database"
)

// histograms are etcd's names of a member's disk latencies.
var histograms = [...]string{
	"etcd_disk_wal_fsync_duration_seconds",
	"etcd_disk_wal_write_duration_seconds",
	"etcd_disk_backend_commit_duration_seconds",
}

// plain are a member's other series under etcd 3.6's names, in sampling order.
var plain = [...]string{
	"etcd_disk_wal_write_bytes_total",
	"etcd_server_has_leader",
	"etcd_server_is_leader",
	"etcd_server_leader_changes_seen_total",
	"etcd_server_proposals_committed_total",
	"etcd_server_proposals_applied_total",
	"etcd_server_proposals_pending",
	"etcd_server_slow_apply_total",
	"etcd_server_heartbeat_send_failures_total",
	"etcd_mvcc_db_total_size_in_bytes",
	"etcd_server_quota_backend_bytes",
}

// Metrics returns the metrics of all members, distinguished by the label instance.
func (c *Cluster) Metrics() []database.Metric {
	var out []database.Metric
	for k := range c.members {
		instance := "m" + strconv.Itoa(k+1)
		for _, name := range histograms {
			for _, le := range edges() {
				labels := []string{"instance", instance, "le", le}
				out = append(out, database.Metric{Name: name + "_bucket", Labels: labels})
			}
			out = append(
				out,
				database.Metric{Name: name + "_sum", Labels: []string{"instance", instance}},
				database.Metric{Name: name + "_count", Labels: []string{"instance", instance}},
			)
		}

		for _, name := range plain {
			out = append(out, database.Metric{Name: name, Labels: []string{"instance", instance}})
		}
	}

	return out
}

// Sample writes the current values of Metrics.
func (c *Cluster) Sample(values []float64) {
	for k := range c.members {
		m := &c.members[k]
		for _, h := range [...]*histogram{&m.wal.fsync, &m.wal.write, &m.backend.seconds} {
			h.sample(values[:histogramSeries])
			values = values[histogramSeries:]
		}

		// The model has no quota alarm: the reported size stays a page below the quota.
		lead, pending, slow, late := 0.0, 0.0, 0.0, 0.0
		committed := min(c.loop.committed, m.synced)
		if m == c.leader {
			lead, pending = 1, float64(c.log.last-m.applied)
			slow, late = float64(c.done.slowApplies), float64(c.done.heartbeatsLate)
			committed = c.loop.committed
		}

		for i, x := range [len(plain)]float64{
			float64(m.wal.bytes), 1, lead, 1, float64(committed), float64(m.applied),
			pending, slow, late, float64(min(m.backend.grown, m.backend.quota-pageSize)), float64(m.backend.quota),
		} {
			values[i] = x
		}

		values = values[len(plain):]
	}
}
