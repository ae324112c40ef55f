package etcdlog_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/engine/etcd/etcdlog"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// The same events as each version logs them.
var versions = map[string]string{
	"3.5": `{"level":"info","ts":"2026-01-05T10:00:00.000Z","caller":"etcdmain/etcd.go:73","msg":"Running: "}
{"level":"info","ts":"2026-01-05T10:00:00.100Z","caller":"embed/etcd.go:308","msg":"starting an etcd server","etcd-version":"3.5.9"}
{"level":"info","ts":"2026-01-05T10:00:01.000Z","logger":"raft","caller":"etcdserver/zap_raft.go:77","msg":"raft.node: 8e9e05c52164694d elected leader 8e9e05c52164694d at term 2"}
{"level":"warn","ts":"2026-01-05T10:00:10.000Z","caller":"wal/wal.go:805","msg":"slow fdatasync","took":"2.5s","expected-duration":"1s"}
{"level":"warn","ts":"2026-01-05T10:00:10.000Z","caller":"etcdserver/raft.go:416","msg":"leader failed to send out heartbeat on time; took too long, leader is overloaded likely from slow disk","to":"1a","heartbeat-interval":"100ms","expected-duration":"200ms","exceeded-duration":"2.25s"}
{"level":"warn","ts":"2026-01-05T10:00:10.001Z","caller":"etcdserver/util.go:170","msg":"apply request took too long","took":"1.5s","expected-duration":"100ms","prefix":"","request":"header:<ID:7 > put:<key:\"a\" value_size:2 >","response":"size:4"}
{"level":"warn","ts":"2026-01-05T10:00:10.002Z","caller":"etcdserver/util.go:170","msg":"apply request took too long","took":"500ms","expected-duration":"100ms","prefix":"read-only range ","request":"key:\"a\" ","response":"range_response_count:0 size:5"}
{"level":"warn","ts":"2026-01-05T10:00:10.003Z","caller":"etcdserver/v3_server.go:993","msg":"waiting for ReadIndex response took too long, retrying","retry-timeout":"500ms"}
{"level":"info","ts":"2026-01-05T10:00:11.000Z","caller":"mvcc/kvstore_compaction.go:68","msg":"finished scheduled compaction","compact-revision":7,"took":"250ms"}
{"level":"info","ts":"2026-01-05T10:00:12.000Z","logger":"raft","caller":"etcdserver/zap_raft.go:77","msg":"raft.node: 8e9e05c52164694d lost leader 8e9e05c52164694d at term 2"}
{"level":"info","ts":"2026-01-05T10:00:12.500Z","logger":"raft","caller":"etcdserver/zap_raft.go:77","msg":"8e9e05c52164694d is starting a new election at term 2"}
{"level":"info","ts":"2026-01-05T10:00:13.000Z","logger":"raft","caller":"etcdserver/zap_raft.go:77","msg":"raft.node: 8e9e05c52164694d elected leader 1a at term 3"}
{"level":"info","ts":"2026-01-05T10:00:14.000Z","caller":"v3rpc/maintenance.go:90","msg":"starting defragment"}
{"level":"info","ts":"2026-01-05T10:00:14.010Z","caller":"backend/backend.go:497","msg":"defragmenting","path":"db","current-db-size":"234 MB"}
{"level":"info","ts":"2026-01-05T10:00:18.000Z","caller":"backend/backend.go:549","msg":"finished defragmenting directory","path":"db","took":"4s"}
{"level":"info","ts":"2026-01-05T10:00:18.010Z","caller":"v3rpc/maintenance.go:96","msg":"finished defragment"}
{"level":"info","ts":"2026-01-05T10:00:19.000Z","caller":"etcdserver/snapshot_merge.go:64","msg":"sent database snapshot to writer","bytes":20480,"size":"20 kB"}
{"level":"warn","ts":"2026-01-05T10:00:20.000Z","caller":"etcdserver/server.go:1914","msg":"alarm raised","alarm":"NOSPACE","from":"1a"}
`,
	"3.3": `2026-01-05 10:00:00.000000 I | etcdmain: etcd Version: 3.3.25
2026-01-05 10:00:01.000000 I | raft: raft.node: 8e9e05c52164694d elected leader 8e9e05c52164694d at term 2
2026-01-05 10:00:10.000000 W | wal: sync duration of 2.5s, expected less than 1s
2026-01-05 10:00:10.000000 W | etcdserver: failed to send out heartbeat on time (exceeded the 100ms timeout for 2.25s, to 1a)
2026-01-05 10:00:10.000000 W | etcdserver: server is likely overloaded
2026-01-05 10:00:10.001000 W | etcdserver: request "header:<ID:7 > put:<key:\"a\" value_size:2 >" with result "size:4" took too long (1.5s) to execute
2026-01-05 10:00:10.002000 W | etcdserver: read-only range request "key:\"a\" " with result "range_response_count:0 size:5" took too long (500ms) to execute
2026-01-05 10:00:11.000000 I | mvcc: finished scheduled compaction at 7 (took 250ms)
2026-01-05 10:00:12.000000 I | raft: raft.node: 8e9e05c52164694d lost leader 8e9e05c52164694d at term 2
2026-01-05 10:00:12.500000 I | raft: 8e9e05c52164694d is starting a new election at term 2
2026-01-05 10:00:13.000000 I | raft: raft.node: 8e9e05c52164694d elected leader 1a at term 3
2026-01-05 10:00:14.000000 I | etcdserver/api/v3rpc: starting to defragment the storage backend...
2026-01-05 10:00:18.000000 I | etcdserver/api/v3rpc: finished defragmenting the storage backend
2026-01-05 10:00:19.000000 I | etcdserver: wrote database snapshot out [total bytes: 20480]
2026-01-05 10:00:20.000000 W | etcdserver: alarm NOSPACE raised by peer 1a
`,
}

func TestVersions(t *testing.T) {
	journald := ""
	for line := range strings.Lines(versions["3.3"]) {
		_, message, _ := strings.Cut(line, ": ")
		journald += "Jan  5 " + line[11:19] + " node-1 etcd[812]: " + message
	}
	versions["3.3 in journald"] = journald

	for name, text := range versions {
		t.Run(name, func(t *testing.T) {
			if !etcdlog.Format.Sniff([]byte(text)) {
				t.Fatal("not recognised")
			}
			mem, d := read(t, text)
			if d.Version == "" && name != "3.3 in journald" {
				t.Error("no version")
			}
			for metric, want := range map[string]float64{
				"etcd_log_slow_fdatasync_total": 1, "etcd_log_slow_fdatasync_seconds_total": 2.5,
				"etcd_log_slow_fdatasync_running_seconds_total": 2.5,
				"etcd_log_late_heartbeat_seconds_total":         2.25,
				"etcd_log_slow_write_total":                     1, "etcd_log_slow_write_seconds_total": 1.5,
				"etcd_log_slow_range_seconds_total":      0.5,
				"etcd_log_compaction_seconds_total":      0.25,
				"etcd_log_defragmentation_seconds_total": 4, "etcd_log_defragmentation_total": 1,
				"etcd_log_leader_change_total": 1, "etcd_log_leader_lost_total": 1, "etcd_log_election_total": 1,
				"etcd_log_snapshot_total": 1, "etcd_log_no_space_total": 1, "etcd_log_start_total": 1,
			} {
				if got := last(t, mem, metric); got != want {
					t.Errorf("%s is %v, want %v", metric, got, want)
				}
			}
		})
	}
}

// Logs of other Go programs have the same format.
func TestOthers(t *testing.T) {
	for _, text := range []string{
		`{"level":"warn","ts":"2026-01-05T10:00:00.000Z","caller":"controller/main.go:73","msg":"slow fdatasync"}` + "\n",
		`{"level":"info","ts":1767607200.5,"caller":"app/run.go:1","msg":"took too long"}` + "\n",
		"2026-01-05 10:00:00.000000 W | app: took too long (2s)\n",
		"2026-01-05 10:00:00.000 UTC [812] LOG:  checkpoint starting: time\n",
		"Jan  5 10:00:00 node-1 kubelet[812]: etcd took too long (1s) to execute\n", "", "{}\n",
	} {
		if etcdlog.Format.Sniff([]byte(text)) {
			t.Errorf("%q is a log of etcd", text)
		}
	}
}

func read(t testing.TB, text string) (*recording.Memory, recording.Source) {
	t.Helper()
	s := etcdlog.Format.Open(source.File{Path: "etcd.log", Modified: time.Date(2026, 1, 5, 11, 0, 0, 0, time.UTC),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	mem := recording.NewMemory(recording.MemoryOptions{})
	if err := s.Read(t.Context(), mem, source.Options{Location: time.UTC}); err != nil {
		t.Fatal(err)
	}
	return mem, s.Describe()
}

func last(t testing.TB, mem *recording.Memory, metric string) float64 {
	t.Helper()
	series, err := mem.Samples(t.Context(), recording.MustSelector(metric), time.UnixMilli(0), time.UnixMilli(recording.TimeMaxMs))
	if err != nil || len(series) == 0 {
		return -1
	}
	p := series[0].Points
	return p[len(p)-1].F
}

func FuzzRead(f *testing.F) {
	for _, text := range versions {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		etcdlog.Format.Sniff(b)
		s := etcdlog.Format.Open(source.File{Path: "etcd.log",
			Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(string(b))), nil }})
		_ = s.Read(t.Context(), recording.NewMemory(recording.MemoryOptions{}), source.Options{Location: time.UTC})
	})
}
