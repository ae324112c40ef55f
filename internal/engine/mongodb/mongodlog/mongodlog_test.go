package mongodlog_test

import (
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/engine/mongodb/mongodlog"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// The same events as each version logs them.
var versions = map[string]string{
	"6.0": `{"t":{"$date":"2026-01-05T10:00:00.000+00:00"},"s":"I",  "c":"CONTROL",  "id":23403,   "ctx":"initandlisten","msg":"Build Info","attr":{"buildInfo":{"version":"6.0.5","gitVersion":"abc"}}}
{"t":{"$date":"2026-01-05T10:00:10.000+00:00"},"s":"I",  "c":"WTCHKPT",  "id":22430,   "ctx":"Checkpointer","msg":"WiredTiger message","attr":{"message":{"ts_sec":1767607210,"session_name":"WT_SESSION.checkpoint","category":"WT_VERB_CHECKPOINT_PROGRESS","msg":"saving checkpoint snapshot min: 6, snapshot max: 6 snapshot count: 0, oldest timestamp: (0, 0)"}}}
{"t":{"$date":"2026-01-05T10:00:30.000+00:00"},"s":"I",  "c":"WTCHKPT",  "id":22430,   "ctx":"Checkpointer","msg":"WiredTiger message","attr":{"message":{"msg":"Checkpoint has been running for 20 seconds and wrote: 5000 pages (90 MB)"}}}
{"t":{"$date":"2026-01-05T10:00:40.000+00:00"},"s":"I",  "c":"WTCHKPT",  "id":22430,   "ctx":"Checkpointer","msg":"WiredTiger message","attr":{"message":{"msg":"Checkpoint ran for 30 seconds and wrote: 8000 pages (140 MB)"}}}
{"t":{"$date":"2026-01-05T10:00:41.000+00:00"},"s":"I",  "c":"WRITE",    "id":51803,   "ctx":"conn42","msg":"Slow query","attr":{"type":"update","ns":"shop.orders","command":{"q":{"_id":1},"u":{"$set":{"a":1}}},"planSummary":"IDHACK","locks":{"Global":{"acquireCount":{"w":1},"timeAcquiringMicros":{"w":200000}}},"flowControl":{"acquireCount":1,"timeAcquiringMicros":100000},"storage":{"data":{"bytesRead":4096,"timeReadingMicros":300000},"timeWaitingMicros":{"cache":400000,"schemaLock":50000}},"durationMillis":1500}}
{"t":{"$date":"2026-01-05T10:00:41.001+00:00"},"s":"I",  "c":"COMMAND",  "id":51803,   "ctx":"conn42","msg":"Slow query","attr":{"type":"command","ns":"shop.$cmd","command":{"update":"orders","updates":[]},"durationMillis":1501}}
{"t":{"$date":"2026-01-05T10:00:42.000+00:00"},"s":"I",  "c":"COMMAND",  "id":51803,   "ctx":"conn43","msg":"Slow query","attr":{"type":"command","ns":"shop.orders","command":{"find":"orders","filter":{"a":1}},"planSummary":"COLLSCAN","docsExamined":50000,"nreturned":2,"storage":{},"durationMillis":500}}
{"t":{"$date":"2026-01-05T10:00:43.000+00:00"},"s":"I",  "c":"COMMAND",  "id":51803,   "ctx":"conn44","msg":"Slow query","attr":{"type":"command","ns":"local.oplog.rs","command":{"getMore":7},"durationMillis":5000}}
{"t":{"$date":"2026-01-05T10:00:44.000+00:00"},"s":"I",  "c":"COMMAND",  "id":51803,   "ctx":"conn45","msg":"Slow query","attr":{"type":"command","ns":"admin.$cmd","command":{"hello":1},"durationMillis":10000}}
{"t":{"$date":"2026-01-05T10:00:45.000+00:00"},"s":"I",  "c":"COMMAND",  "id":20499,   "ctx":"ftdc","msg":"serverStatus was very slow","attr":{"timeStats":{"after basic":0,"at end":2500}}}
{"t":{"$date":"2026-01-05T10:00:46.000+00:00"},"s":"W",  "c":"STORAGE",  "id":22223,   "ctx":"FlowControlRefresher","msg":"Flow control is engaged and the sustainer point is not moving. Please check the health of all secondaries."}
{"t":{"$date":"2026-01-05T10:00:47.000+00:00"},"s":"I",  "c":"ELECTION", "id":21450,   "ctx":"ReplCoord-1","msg":"Election succeeded, assuming primary role","attr":{"term":4}}
{"t":{"$date":"2026-01-05T10:00:48.000+00:00"},"s":"I",  "c":"REPL",     "id":21402,   "ctx":"ReplCoord-2","msg":"Stepping down from primary, because a new term has begun","attr":{"term":5}}
{"t":{"$date":"2026-01-05T10:00:49.000+00:00"},"s":"I",  "c":"INDEX",    "id":20345,   "ctx":"IndexBuildsCoordinatorMongod-0","msg":"Index build: done building","attr":{"namespace":"shop.orders","index":"a_1"}}
`,
	"4.2": `2026-01-05T10:00:00.000+0000 I  CONTROL  [initandlisten] db version v4.2.9
2026-01-05T10:00:10.000+0000 I  STORAGE  [WTCheckpointThread] WiredTiger message [1767607210:1][1:0x7fd], WT_SESSION.checkpoint: [WT_VERB_CHECKPOINT_PROGRESS] saving checkpoint snapshot min: 6, snapshot max: 6 snapshot count: 0
2026-01-05T10:00:40.000+0000 I  STORAGE  [WTCheckpointThread] WiredTiger message [1767607240:1][1:0x7fd], WT_SESSION.checkpoint: Checkpoint ran for 30 seconds and wrote: 8000 pages (140 MB)
2026-01-05T10:00:41.000+0000 I  WRITE    [conn42] update shop.orders command: { q: { _id: 1 }, u: { $set: { a: 1 } } } planSummary: IDHACK keysExamined:1 flowControl:{ acquireCount: 1, timeAcquiringMicros: 100000 } storage:{ data: { bytesRead: 4096, timeReadingMicros: 300000 }, timeWaitingMicros: { cache: 400000 } } 1500ms
2026-01-05T10:00:41.001+0000 I  COMMAND  [conn42] command shop.$cmd command: update { update: "orders", ordered: true } numYields:0 reslen:60 protocol:op_msg 1501ms
2026-01-05T10:00:42.000+0000 I  COMMAND  [conn43] command shop.orders appName: "app" command: find { find: "orders", filter: { a: 1 } } planSummary: COLLSCAN keysExamined:0 docsExamined:50000 nreturned:2 storage:{} protocol:op_msg 500ms
2026-01-05T10:00:45.000+0000 I  COMMAND  [ftdc] serverStatus was very slow: { after basic: 0, after asserts: 0, at end: 2500 }
2026-01-05T10:00:46.000+0000 W  STORAGE  [FlowControlRefresher] Flow control is engaged and the sustainer point is not moving. Please check the health of all secondaries.
2026-01-05T10:00:47.000+0000 I  ELECTION [replexec-1] election succeeded, assuming primary role in term 4
2026-01-05T10:00:48.000+0000 I  REPL     [replexec-2] Stepping down from primary, because a new term has begun: 5
2026-01-05T10:00:49.000+0000 I  INDEX    [conn7] build index done.  scanned 100 total records. 5 secs
`,
}

func TestVersions(t *testing.T) {
	for name, text := range versions {
		t.Run(name, func(t *testing.T) {
			if !mongodlog.Format.Sniff([]byte(text)) {
				t.Fatal("not recognised")
			}
			mem, d, err := read(t, text)
			if err != nil || !strings.HasPrefix(name, d.Version[:3]) {
				t.Errorf("%+v: %v", d, err)
			}
			locks := 0.25
			if name == "4.2" {
				locks = -1
			}
			for metric, want := range map[string]float64{
				"mongodb_log_slow_write_total": 1, "mongodb_log_slow_write_running_seconds_total": 1.5,
				"mongodb_log_slow_read_total": 1, "mongodb_log_slow_read_seconds_total": 0.5,
				"mongodb_log_disk_read_seconds_total": 0.3, "mongodb_log_cache_wait_seconds_total": 0.4,
				"mongodb_log_flow_control_seconds_total": 0.1, "mongodb_log_lock_wait_seconds_total": locks,
				"mongodb_log_collscan_total": 1, "mongodb_log_scan_seconds_total": 0.5, "mongodb_log_checkpoint_start_total": 1,
				"mongodb_log_long_checkpoint_total": 1, "mongodb_log_long_checkpoint_running_seconds_total": 30,
				"mongodb_log_slow_status_seconds_total": 2.5, "mongodb_log_flow_control_engaged_total": 1,
				"mongodb_log_election_total": 1, "mongodb_log_stepdown_total": 1, "mongodb_log_index_build_total": 1,
				"mongodb_log_start_total": 1,
			} {
				if got := last(t, mem, metric); math.Abs(got-want) > 1e-9 {
					t.Errorf("%s is %v, want %v", metric, got, want)
				}
			}
		})
	}
}

func TestOthers(t *testing.T) {
	for _, text := range []string{
		`{"t":{"$date":"2026-01-05T10:00:00.000+00:00"}}` + "\n", "2026-01-05T10:00:00.000+0000 INFO app 5ms\n",
		`{"level":"info","ts":"2026-01-05T10:00:00Z","msg":"Slow query"}` + "\n", "{}\n", "",
	} {
		if mongodlog.Format.Sniff([]byte(text)) {
			t.Errorf("%q is a log of mongod", text)
		}
	}
}

func read(t testing.TB, text string) (*recording.Memory, recording.Source, error) {
	t.Helper()
	s := mongodlog.Format.Open(source.File{Path: "mongod.log", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}})
	mem := recording.NewMemory(recording.MemoryOptions{})
	err := s.Read(t.Context(), mem, source.Options{Location: time.UTC})
	return mem, s.Describe(), err
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
		mongodlog.Format.Sniff(b)
		_, _, _ = read(t, string(b))
	})
}
