package names_test

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/engine/mongodb/ftdc"
	"plimsoll/internal/engine/mongodb/names"
)

// TestMetric compares names with a table; the paths come from real captures of 3.6, 8.0 and 8.2.
func TestMetric(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		// 3.6
		{"serverStatus/wiredTiger/transaction/transaction checkpoint most recent time (msecs)", `mongodb_ss_wt_txn_transaction_checkpoint_most_recent_time_msecs`},
		{"serverStatus/wiredTiger/transaction/transaction checkpoint currently running", `mongodb_ss_wt_txn_transaction_checkpoint_currently_running`},
		{"serverStatus/wiredTiger/concurrentTransactions/write/available", `mongodb_ss_wt_concurrentTransactions_available{txn_rw_type="write"}`},
		{"serverStatus/wiredTiger/thread-yield/application thread time evicting (usecs)", `mongodb_ss_wt_thread_yield_application_thread_time_evicting_usecs`},
		{"serverStatus/globalLock/currentQueue/writers", `mongodb_ss_globalLock_currentQueue{count_type="writers"}`},
		{"serverStatus/locks/Global/acquireCount/r", `mongodb_ss_locks_Global_acquireCount_r`},
		{"serverStatus/opcounters/insert", `mongodb_ss_opcounters{legacy_op_type="insert"}`},
		{"serverStatus/metrics/document/inserted", `mongodb_ss_metrics_document{doc_op_type="inserted"}`},
		{"serverStatus/metrics/cursor/open/total", `mongodb_ss_metrics_cursor_open{csr_type="total"}`},
		{"serverStatus/metrics/commands/find/total", `mongodb_ss_metrics_commands_find_total`},
		{"systemMetrics/disks/sda/io_time_ms", `mongodb_sys_disks_io_time_ms{device_name="sda"}`},
		{"start", `mongodb_start`},
		// 8.0
		{"serverStatus/opLatencies/writes/latency", `mongodb_ss_opLatencies_latency{op_type="writes"}`},
		{"serverStatus/opLatencies/writes/queryableEncryptionLatencyMicros", `mongodb_ss_opLatencies_writes_queryableEncryptionLatencyMicros`},
		{"serverStatus/queues/execution/write/out", `mongodb_ss_wt_concurrentTransactions_out{txn_rw_type="write"}`},
		{"serverStatus/queues/execution/write/normalPriority/totalTimeQueuedMicros", `mongodb_ss_wt_concurrentTransactions_write_normalPriority_totalTimeQueuedMicros`},
		{"serverStatus/queues/ingress/available", `mongodb_ss_queues_ingress_available`},
		{"serverStatus/wiredTiger/checkpoint/progress state", `mongodb_ss_wt_checkpoint_progress_state`},
		{"serverStatus/wiredTiger/cache/pages evicted by application threads", `mongodb_ss_wt_cache_pages_evicted_by_application_threads`},
		{"serverStatus/wiredTiger/perf/file system write latency histogram (bucket 2) - 50-99ms", `mongodb_ss_wt_perf{perf_bucket="file system write latency histogram (bucket 2) - 50-99ms"}`},
		{"systemMetrics/mounts//boot/efi/free", `mongodb_sys_mounts_free{mount_point="/boot/efi"}`},
		{"systemMetrics/pressure/io/some/totalMicros", `mongodb_sys_pressure_io_some_totalMicros`},
		{"replSetGetStatus/members/0/uptime", `mongodb_rs_members_uptime{member_idx="0"}`},
		{"replSetGetStatus/optimes/lastCommittedOpTime/ts/inc", `mongodb_rs_optimes_lastCommittedOpTime_ts_inc`},
		{"local.oplog.rs.stats/storageStats/wiredTiger/block-manager/checkpoint size", `mongodb_oplog_stats_wt_block_manager_checkpoint_size`},
		// 8.2
		{"serverStatus/wiredTiger/cache/page evict attempts by application threads", `mongodb_ss_wt_cache_page_evict_attempts_by_application_threads`},
		{"serverStatus/spillWiredTiger/numUpdates", `mongodb_ss_spillWiredTiger_numUpdates`},
		// sections of 8.x builds, pools of mongos
		{"shard/serverStatus/opcounters/insert", `mongodb_ss_opcounters{legacy_op_type="insert"}`},
		{"common/systemMetrics/cpu/iowait_ms", `mongodb_sys_cpu_iowait_ms`},
		{"connPoolStats/totalInUse", `mongodb_connPoolStats_totalInUse`},
		{"connPoolStats/hosts/db1.example:27017/inUse", `mongodb_connPoolStats_hosts_inUse{host="db1.example:27017"}`},
		{"connPoolStats/pools/global/poolInUse", `mongodb_connPoolStats_pools_poolInUse{pool="global"}`},
		{"connPoolStats/pools/global/db1.example:27017/inUse", `mongodb_connPoolStats_pools_inUse{host="db1.example:27017", pool="global"}`},
		{"  ", ``},
		{"", ``},
	} {
		l, ok := names.Metric(splitPath(tt.path))
		want := tt.want
		if name, pairs, found := strings.Cut(want, "{"); found {
			want = `{__name__="` + name + `", ` + pairs
		} else if want != "" {
			want = `{__name__="` + name + `"}`
		}
		if got := l.String(); ok != (want != "") || ok && got != want {
			t.Errorf("%s is %s, want %s", tt.path, got, want)
		}
	}
}

// splitPath splits at slashes, but not those of a mount point.
func splitPath(path string) []string {
	if rest, ok := strings.CutPrefix(path, "systemMetrics/mounts/"); ok {
		i := strings.LastIndex(rest, "/")
		return []string{"systemMetrics", "mounts", rest[:i], rest[i+1:]}
	}
	return strings.Split(path, "/")
}

// captures are the real captures and their versions.
var captures = []struct{ file, version string }{
	{"v3.6.3/metrics.2019-05-03T10-37-35Z-00000", "3.6"},
	{"v3.6.3/metrics.interim.0c2fdde", "3.6"},
	{"metrics.visualzhou-example", "8.0"},
	{"v8.2.1/metrics.interim", "8.2"},
}

// realSchemas returns the schemas of a capture.
func realSchemas(t *testing.T, name string) (all []*ftdc.Schema) {
	path := filepath.Join("../../../../../shared/data/ftdc", name)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the real capture %s not found (expected in ../shared/data/ftdc, next to the repository's root)", name)
	}

	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	s := ftdc.NewScanner(name, f)
	for {
		c, err := s.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(all, c.Schema) {
			all = append(all, c.Schema)
		}
	}
}

// Every metric of a real capture has a valid and unique name.
func TestRealNames(t *testing.T) {
	for _, c := range captures {
		t.Run(c.file, func(t *testing.T) {
			for _, s := range realSchemas(t, c.file) {
				seen := map[string]bool{}
				for i := range s.Len() {
					l, ok := names.Metric(s.Path(i))
					if !s.Duplicate(i) && seen[l.String()] {
						t.Errorf("%v has the name of another metric, %s", s.Path(i), l)
					}
					seen[l.String()] = true
					if !ok || !model.LegacyValidation.IsValidMetricName(l.Get(labels.MetricName)) {
						t.Errorf("%v has the name %s", s.Path(i), l)
					}
				}
			}
		})
	}
}

// In each real capture, every renamed metric has its version's name and no other.
func TestAliases(t *testing.T) {
	for _, c := range captures {
		t.Run(c.file, func(t *testing.T) {
			given := map[string]bool{}
			for _, s := range realSchemas(t, c.file) {
				for i := range s.Len() {
					l, _ := names.Metric(s.Path(i))
					given[l.Get(labels.MetricName)] = true
				}
			}

			for _, idea := range aliases {
				for _, a := range idea.Names {
					expected := compareVersions(a.Since, c.version) <= 0 && (a.Until == "" || compareVersions(c.version, a.Until) <= 0)
					if given[a.Metric] != expected {
						t.Errorf("%s: %s is in the capture of %s: %v, expected (%s to %s): %v", idea.Name, a.Metric, c.version, given[a.Metric], a.Since, a.Until, expected)
					}
				}
			}
		})
	}
}

func compareVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	})
}

// The table of aliases is consistent: newest first, no overlap, valid names.
func TestAliasTable(t *testing.T) {
	seen := map[string]bool{}
	for _, idea := range aliases {
		if seen[idea.Name] || idea.Unit == "" || len(idea.Names) == 0 {
			t.Errorf("%+v is not a unique idea", idea)
		}

		seen[idea.Name] = true
		for i, a := range idea.Names {
			if a.Until != "" && compareVersions(a.Since, a.Until) > 0 {
				t.Errorf("%s: %s ends before it begins", idea.Name, a.Metric)
			}
			if i > 0 && compareVersions(a.Until, idea.Names[i-1].Since) >= 0 {
				t.Errorf("%s: %s is not before %s", idea.Name, a.Metric, idea.Names[i-1].Metric)
			}
			if !strings.HasPrefix(a.Metric, "mongodb_") || !model.LegacyValidation.IsValidMetricName(a.Metric) {
				t.Errorf("%s: %q is not a valid name", idea.Name, a.Metric)
			}
		}
	}
}
