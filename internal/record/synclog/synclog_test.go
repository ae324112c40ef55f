package synclog_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/serverlog"
	"plimsoll/internal/record/source"
	"plimsoll/internal/record/synclog"
)

func read(t testing.TB, text string) (*recording.Memory, recording.Source, error) {
	t.Helper()
	f := source.File{Path: "a.log", Modified: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}

	var format *serverlog.Format
	for _, x := range synclog.Formats() {
		if x.Sniff([]byte(text)) {
			format = x
		}
	}
	if format == nil {
		return nil, recording.Source{}, io.ErrUnexpectedEOF
	}

	mem := recording.NewMemory(recording.MemoryOptions{})
	src := format.Open(f)
	err := src.Read(t.Context(), mem, source.Options{Location: time.UTC})
	return mem, src.Describe(), err
}

// total returns the last value of a metric.
func total(t testing.TB, mem *recording.Memory, metric string) float64 {
	t.Helper()
	s, err := mem.Samples(t.Context(), recording.MustSelector(metric), time.UnixMilli(0), time.UnixMilli(recording.TimeMaxMs))
	if err != nil {
		t.Fatal(err)
	}
	if len(s) == 0 {
		return -1
	}
	return s[0].Points[len(s[0].Points)-1].F
}

// Lines of Redis from before 3.0, from before 5.0, and from current versions, also behind a pipeline's
// prefix.
func TestRedis(t *testing.T) {
	const slow = "Asynchronous AOF fsync is taking too long (disk is busy?). Writing the AOF buffer without waiting."
	for name, lines := range map[string][3]string{
		"2.4":     {"[23] 01 Mar 05:50:23 * ", "[23] 01 Mar 05:50:27 * ", "[23] 01 Mar 05:50:43 * "},
		"3.2":     {"1:M 01 Mar 05:50:23.001 * ", "1:M 01 Mar 05:50:27.001 * ", "1:M 01 Mar 05:50:43.001 * "},
		"7.2":     {"1:M 01 Mar 2026 05:50:23.001 * ", "1:M 01 Mar 2026 05:50:27.001 * ", "1:M 01 Mar 2026 05:50:43.001 # "},
		"compose": {"cache-1  | 1:M 01 Mar 2026 05:50:23.001 * ", "cache-1  | 1:M 01 Mar 2026 05:50:27.001 * ", "cache-1  | 1:M 01 Mar 2026 05:50:43.001 # "},
		"kubectl": {"2026-03-01T05:50:23Z 1:M 01 Mar 2026 05:50:23.001 * ", "2026-03-01T05:50:27Z 1:M 01 Mar 2026 05:50:27.001 * ", "2026-03-01T05:50:43Z 1:M 01 Mar 2026 05:50:43.001 # "},
	} {
		text := lines[0] + "Background saving started by pid 83\n" + lines[1] + slow + "\n" + lines[2] +
			"Background saving terminated with success\n"
		mem, d, err := read(t, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		for metric, want := range map[string]float64{"redis_log_delayed_write_total": 1,
			"redis_log_delayed_write_seconds_total": 2, "redis_log_background_write_seconds_total": 20} {
			if got := total(t, mem, metric); got != want {
				t.Errorf("%s: %s is %v, want %v", name, metric, got, want)
			}
		}
		if want := time.Date(2026, 3, 1, 5, 50, 23, 0, time.UTC); d.Kind != "redis-log" || !d.From.Truncate(time.Second).Equal(want) {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// Lines of ZooKeeper 3.4 and 3.6, and of Kafka.
func TestZooKeeper(t *testing.T) {
	for name, text := range map[string]string{
		"3.4":   "2026-02-10 18:55:46,382 [myid:3] - WARN  [SyncThread:3:FileTxnLog@338] - fsync-ing the write ahead log in SyncThread:3 took 1062ms which will adversely effect operation latency. See the ZooKeeper troubleshooting guide\n2026-02-10 18:55:47,471 [myid:3] - INFO  [SyncThread:3:FileTxnLog@203] - Creating new log file: log.1\n",
		"3.5":   "2026-02-10 18:55:46,382 [myid:] - WARN  [SyncThread:0:FileTxnLog@341] - fsync-ing the write ahead log (1945616 bytes) in SyncThread:0 took 1062ms which will adversely effect operation latency.\n",
		"Kafka": "[2026-02-10 18:55:46,382] WARN fsync-ing the write ahead log in SyncThread:0 took 1062ms which will adversely effect operation latency. File size is 67108880 bytes. (org.apache.zookeeper.server.persistence.FileTxnLog)\n",
	} {
		mem, d, err := read(t, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n, s := total(t, mem, "zookeeper_log_slow_fsync_total"), total(t, mem, "zookeeper_log_slow_fsync_seconds_total"); n != 1 || s != 1.062 {
			t.Errorf("%s: %v syncs of %v s", name, n, s)
		}
		if d.Kind != "zookeeper-log" || d.From.Hour() != 18 {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// Other logs are not recognised.
func TestOthers(t *testing.T) {
	for _, text := range []string{"", "2026-02-10 18:55:46 hello\n", "[1] 01 Mar hello\n",
		`{"level":"warn","msg":"slow fdatasync"}` + "\n"} {
		if _, _, err := read(t, text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("[23] 29 Feb 05:50:23 * Background saving started by pid 83\n1:M 01 Mar 05:50:27 * Asynchronous AOF fsync is taking too long\n")
	f.Add("[2026-02-10 18:55:46,382] WARN fsync-ing the write ahead log in SyncThread:0 took 999999999ms\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, _, _ = read(t, text)
	})
}
