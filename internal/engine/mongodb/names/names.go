// Package names defines the names of MongoDB's metrics and settings. It is the one translation from
// the paths in serverStatus and captures to percona/mongodb_exporter's names.
//
// [Metric] gives a metric the name that percona/mongodb_exporter gives it (v0.53.0,
// exporter/metrics.go), so that rules written for Prometheus also work on captures:
//
//   - The path's beginning is shortened: serverStatus.wiredTiger.transaction is ss_wt_txn,
//     serverStatus.wiredTiger is ss_wt, serverStatus.queues.execution (8.0 and later) is
//     ss_wt_concurrentTransactions as the tickets were called before, serverStatus is ss,
//     replSetGetStatus is rs, systemMetrics is sys, local.oplog.rs.stats is oplog_stats.
//   - The parts are joined by '_' after "mongodb_"; each run of characters other than letters and digits
//     becomes one '_', with none at the end. No unit or "_total" is added.
//   - Some keys become labels: op_type of opLatencies, txn_rw_type of the tickets, legacy_op_type of
//     opcounters, conn_type of connections, and so on.
//
// The exporter makes one metric per disk, mount point and pool, or does not export them. Here, the
// keys of disks (device_name), mounts (mount_point), replica set members (member_idx, their
// position) and pooled connections (host, pool) become labels. Two differences are deliberate: the
// exporter's tickets have the label txn_rw, and its disks are part of the metric's name.
//
// Builds of 8.x that put all sections under "shard", "router" or "common" get the same names. If a
// key occurs twice in a sample (two mounts with the same name), the first one is the series. The
// increment of a timestamp has the timestamp's name plus "_inc". On Windows systemMetrics holds
// performance counters: mongodb_sys_disks_PhysicalDisk_Disk_Write_Bytes_sec{device_name="0 C:"}.
//
// Names changed between versions of MongoDB; aliases_test.go in this folder lists them.
package names

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// metricPrefix is the prefix of all names, as in mongodb_exporter.
const metricPrefix = "mongodb_"

// shortened are the path prefixes that names abbreviate, most specific first. Source:
// percona/mongodb_exporter v0.53.0, exporter/metrics.go, prefixes. Since 8.0 the tickets are under
// queues.execution but keep their name.
var shortened = []struct{ path, short string }{
	{"serverStatus.wiredTiger.transaction", "ss_wt_txn"},
	{"serverStatus.wiredTiger", "ss_wt"},
	{"serverStatus.queues.execution", "ss_wt_concurrentTransactions"},
	{"serverStatus", "ss"},
	{"replSetGetStatus", "rs"},
	{"systemMetrics", "sys"},
	{"local.oplog.rs.stats.wiredTiger", "oplog_stats_wt"},
	{"local.oplog.rs.stats.storageStats.wiredTiger", "oplog_stats_wt"},
	{"local.oplog.rs.stats", "oplog_stats"},
	{"collStats.storageStats", "collstats_storage"},
	{"collStats.latencyStats", "collstats_latency"},
}

// leafLabels are the documents whose own fields become values of one metric's label. Source: the
// same file, nodeToPDMetrics.
var leafLabels = map[string]string{
	"serverStatus.asserts":                           "assert_type",
	"serverStatus.connections":                       "conn_type",
	"serverStatus.globalLock.currentQueue":           "count_type",
	"serverStatus.metrics.commands":                  "cmd_name",
	"serverStatus.metrics.cursor.open":               "csr_type",
	"serverStatus.metrics.document":                  "doc_op_type",
	"serverStatus.opLatencies":                       "op_type",
	"serverStatus.opReadConcernCounters":             "concern_type",
	"serverStatus.opcounters":                        "legacy_op_type",
	"serverStatus.opcountersRepl":                    "legacy_op_type",
	"serverStatus.transactions.commitTypes":          "commit_type",
	"serverStatus.wiredTiger.concurrentTransactions": "txn_rw_type",
	"serverStatus.queues.execution":                  "txn_rw_type",
	"serverStatus.wiredTiger.perf":                   "perf_bucket",
	"systemMetrics.disks":                            "device_name",
}

// nodeLabels are the documents with one subdocument per object, all of the same structure. The
// subdocument's key becomes a label and leaves the name. Only restricts this to some last fields;
// nil means all.
//
// The exporter does this for the first three in its specialConversions. It would flatten the others
// into one name per disk, mount or host.
var nodeLabels = map[string]struct {
	label string
	only  []string // last fields
}{
	"serverStatus.opLatencies":                       {"op_type", []string{"ops", "latency"}},
	"serverStatus.wiredTiger.concurrentTransactions": {"txn_rw_type", ticketFields},
	"serverStatus.queues.execution":                  {"txn_rw_type", ticketFields},

	"systemMetrics.disks":       {"device_name", nil},
	"systemMetrics.mounts":      {"mount_point", nil},
	"replSetGetStatus.members":  {"member_idx", nil},
	"connPoolStats.hosts":       {"host", nil},
	"connPoolStats.replicaSets": {"set", nil},
	"connPoolStats.pools":       {"pool", nil},
}

var ticketFields = []string{"out", "available", "totalTickets"}

// Metric returns the labels, including __name__, of the metric at a path of a sampled document (see
// ftdc's Schema.Path). The name is percona/mongodb_exporter's if it exports the metric, otherwise
// one made by its rules. It returns false for a path without a name: an empty one, or one without a
// letter or digit.
//
// Two paths may have the same labels ("a b" and "a-b"); readers keep the first.
func Metric(path []string) (labels.Labels, bool) {
	path = Bare(path)
	if len(path) == 0 {
		return labels.EmptyLabels(), false
	}

	joined, named := cutNodes(path)
	last := len(path) - 1
	parent := strings.Join(path[:last], ".")

	// The last key becomes the label's value, so one metric holds all siblings.
	if label, ok := leafLabels[parent]; ok {
		joined, named = parent+".", []string{label, path[last]}
	}

	name := metricName(joined)
	if name == metricPrefix {
		return labels.EmptyLabels(), false
	}

	b := labels.NewScratchBuilder(3)
	b.Add(labels.MetricName, name)

	for i := 0; i < len(named); i += 2 {
		b.Add(named[i], strings.ToValidUTF8(named[i+1], "\uFFFD"))
	}

	b.Sort()
	return b.Labels(), true
}

// cutNodes removes the keys that become labels from a path, which it returns joined by dots.
func cutNodes(path []string) (joined string, named []string) {
	const depthMax = 4 // one more than the elements of nodeLabels' longest key
	for i := 1; i < len(path)-1 && i < depthMax; i++ {
		node, ok := nodeLabels[strings.Join(path[:i], ".")]
		if !ok || node.only != nil && (len(path) != i+2 || !slices.Contains(node.only, path[i+1])) {
			continue
		}

		named = append(named, node.label, path[i])
		rest := path[i+1:]

		// A connection pool lists its hosts under their addresses, next to its totals.
		if node.label == "pool" && len(rest) > 1 && strings.Contains(rest[0], ":") {
			named = append(named, "host", rest[0])
			rest = rest[1:]
		}

		return strings.Join(slices.Concat(path[:i], rest), "."), named
	}

	return strings.Join(path, "."), nil
}

// metricName abbreviates the beginning of a joined path and turns the rest into a valid name: one
// '_' for each run of other characters, none at the ends.
func metricName(joined string) string {
	for _, s := range shortened {
		if rest, ok := strings.CutPrefix(joined, s.path); ok && strings.HasPrefix(rest, ".") {
			joined = s.short + rest
			break
		}
	}

	b := make([]byte, 0, len(metricPrefix)+len(joined))
	b = append(b, metricPrefix...)

	gap := true // the prefix ends in '_'
	for i := range len(joined) {
		c := joined[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			b = append(b, c)
			gap = false
		} else if !gap {
			b = append(b, '_')
			gap = true
		}
	}

	if gap && len(b) > len(metricPrefix) {
		b = b[:len(b)-1]
	}

	return string(b)
}
