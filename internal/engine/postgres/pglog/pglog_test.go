package pglog_test

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/engine/postgres/pglog"
	"plimsoll/internal/engine/postgres/postgrestest"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// The messages of each kind of event, with the second in which they are logged.
var messages = []struct {
	second            int
	severity, message string
}{
	{0, "LOG", "starting PostgreSQL 15.4 (Debian 15.4-1) on x86_64-pc-linux-gnu, compiled by gcc, 64-bit"},
	{1, "LOG", "database system was interrupted; last known up at 2026-01-05 09:00:00 UTC"},
	{10, "LOG", "checkpoint starting: time"},
	{40, "LOG", "checkpoint complete: wrote 512 buffers (3.1%); 0 WAL file(s) added, 0 removed, 1 recycled; write=26.500 s, sync=3.000 s, total=30.000 s; sync files=12, longest=2.500 s, average=0.250 s; distance=32768 kB, estimate=32768 kB"},
	{41, "LOG", "checkpoint starting: wal"},
	{42, "LOG", "duration: 1500.250 ms  statement: COMMIT"},
	{43, "LOG", "duration: 250.000 ms  execute S_1: UPDATE t SET a = $1"},
	{44, "LOG", "duration: 99.000 ms  statement: INSERT INTO t VALUES (1)"},
	{45, "LOG", "duration: 4000.000 ms  statement: SELECT 'Dauer: FATAL: '"},
	{46, "LOG", "duration: 4000.000 ms  plan: Seq Scan on t"},
	{47, "LOG", "process 42 still waiting for ShareLock on transaction 505 after 1000.078 ms"},
	{49, "LOG", "process 42 acquired ShareLock on transaction 505 after 3000.500 ms"},
	{50, "LOG", `temporary file: path "base/pgsql_tmp/pgsql_tmp42.0", size 1048576`},
	{51, "LOG", "archive command failed with exit code 1"},
	{52, "LOG", "terminating walsender process due to replication timeout"},
	{53, "ERROR", `could not extend file "base/5/1": No space left on device`},
	{54, "PANIC", `could not fsync file "base/5/1": Input/output error`},
}

// formats write one message.
var formats = map[string]func(at time.Time, severity, message string) string{
	"stderr, %m [%p]": func(at time.Time, s, m string) string {
		return fmt.Sprintf("%s UTC [42] %s:  %s", at.Format("2006-01-02 15:04:05.000"), s, m)
	},
	"stderr, %m [%p] %q%u@%d": func(at time.Time, s, m string) string {
		return fmt.Sprintf("%s UTC [42] app@shop %s:  %s", at.Format("2006-01-02 15:04:05.000"), s, m)
	},
	"RDS, %t:%r:%u@%d:[%p]:": func(at time.Time, s, m string) string {
		return fmt.Sprintf("%s UTC:10.0.0.7(51234):app@shop:[42]:%s:  %s", at.Format(time.DateTime), s, m)
	},
	"an offset, user first": func(at time.Time, s, m string) string {
		return fmt.Sprintf("user=app,db=shop %s +00 [42] %s:  %s", at.Format("2006-01-02 15:04:05.000"), s, m)
	},
	"%n": func(at time.Time, s, m string) string {
		return fmt.Sprintf("%d.000 [42] %s:  %s", at.Unix(), s, m)
	},
	"journald": func(at time.Time, s, m string) string {
		return fmt.Sprintf("%s db postgres[42]: [7-1] db=,user= %s:  %s", at.Format("Jan _2 15:04:05"), s, m)
	},
	"docker compose": func(at time.Time, s, m string) string {
		return fmt.Sprintf("db-1  | %s UTC [42] %s:  %s", at.Format("2006-01-02 15:04:05.000"), s, m)
	},
	"csvlog": func(at time.Time, s, m string) string {
		return fmt.Sprintf(`%s UTC,"app","shop",42,"[local]",65b.2a,7,"UPDATE",%s UTC,3/1,0,%s,00000,"%s",,,,,,,,,"psql","client backend",,0`,
			at.Format("2006-01-02 15:04:05.000"), at.Format(time.DateTime), s, strings.ReplaceAll(m, `"`, `""`))
	},
	"jsonlog": func(at time.Time, s, m string) string {
		return fmt.Sprintf(`{"timestamp":"%s UTC","pid":42,"session_id":"65b.2a","error_severity":%q,"message":%q,"backend_type":"checkpointer"}`,
			at.Format("2006-01-02 15:04:05.000"), s, m)
	},
	"CloudNativePG": func(at time.Time, s, m string) string {
		return fmt.Sprintf(`{"level":"info","ts":"%s","logger":"postgres","msg":"record","logging_pod":"db-1","record":{"log_time":"%s UTC","process_id":"42","error_severity":%q,"sql_state_code":"00000","message":%q,"backend_type":"checkpointer"}}`,
			at.Format(time.RFC3339), at.Format("2006-01-02 15:04:05.000"), s, m)
	},
}

var begin = time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)

func TestFormats(t *testing.T) {
	for name, format := range formats {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, m := range messages {
				b.WriteString(format(begin.Add(time.Duration(m.second)*time.Second), m.severity, m.message) + "\n")
			}
			if !pglog.Format.Sniff([]byte(b.String())) {
				t.Fatalf("not recognised:\n%s", b.String())
			}

			mem, d, err := read(t, b.String())
			if err != nil || d.Version != "15.4" || !d.From.Equal(begin) {
				t.Errorf("%+v: %v", d, err)
			}
			for metric, want := range map[string]float64{
				"postgres_log_checkpoint_total": 1, "postgres_log_checkpoint_running_seconds_total": 30,
				"postgres_log_checkpoint_write_seconds_total": 26.5, "postgres_log_checkpoint_sync_seconds_total": 3,
				"postgres_log_checkpoint_files_total": 12, "postgres_log_checkpoint_buffers_total": 512,
				"postgres_log_checkpoint_file_sync_seconds_total": 2.5,
				"postgres_log_checkpoints_timed_total":            1, "postgres_log_checkpoints_wal_total": 1,
				"postgres_log_slow_commit_seconds_total": 1.50025, "postgres_log_slow_write_total": 1,
				"postgres_log_slow_statement_seconds_total": 4, "postgres_log_lock_wait_seconds_total": 3.0005,
				"postgres_log_temporary_file_bytes_total": 1 << 20, "postgres_log_archive_failure_total": 1,
				"postgres_log_replication_timeout_total": 1, "postgres_log_no_space_total": 1,
				"postgres_log_fsync_failure_total": 1, "postgres_log_crash_total": 1, "postgres_log_start_total": 1,
				"postgres_log_autovacuum_total": -1,
			} {
				if got := last(t, mem, metric); math.Abs(got-want) > 1e-9 {
					t.Errorf("%s is %v, want %v", metric, got, want)
				}
			}
		})
	}
}

// The elapsed time of autovacuum is on a continuation line of the message.
func TestAutovacuum(t *testing.T) {
	text := "2026-01-05 10:00:30.000 UTC [42] LOG:  automatic vacuum of table \"shop.public.t\": index scans: 1\n" +
		"\tpages: 0 removed, 100 remain\n\tsystem usage: CPU: user: 0.10 s, system: 0.20 s, elapsed: 12.50 s\n" +
		"2026-01-05 10:00:31.000 UTC [42] LOG:  checkpoint starting: time\n"
	mem, _, err := read(t, text)
	if got := last(t, mem, "postgres_log_autovacuum_seconds_total"); err != nil || got != 12.5 {
		t.Errorf("%v s: %v", got, err)
	}
}

// A log in another language is refused with the language's name. One that changed its language is read
// in part.
func TestLanguages(t *testing.T) {
	german := "2026-01-05 10:00:00.000 CET [42] LOG:  Checkpoint beginnt: time\n2026-01-05 10:00:01.000 CET [42] LOG:  Dauer: 200.1 ms  Anweisung: COMMIT\n"
	russian := "2026-01-05 10:00:00.000 MSK [42] СООБЩЕНИЕ:  начата контрольная точка: time\n"
	for language, text := range map[string]string{"German": german, "Russian": russian} {
		if !pglog.Format.Sniff([]byte(text)) {
			t.Errorf("%s is not recognised", language)
		}
		if _, _, err := read(t, text); err == nil || !strings.Contains(err.Error(), language) || !strings.Contains(err.Error(), "lc_messages") {
			t.Errorf("%s: %v", language, err)
		}
	}

	mem, _, err := read(t, german+"2026-01-05 10:00:02.000 CET [42] LOG:  duration: 200.1 ms  statement: COMMIT\n")
	if err != nil || last(t, mem, "postgres_log_slow_commit_total") != 1 || len(mem.Notes()) < 2 {
		t.Errorf("notes %v: %v", mem.Notes(), err)
	}
}

func TestOthers(t *testing.T) {
	for _, text := range []string{
		"2026-01-05 10:00:00 LOG: started\n", "2026-01-05 10:00:00 ERROR: duration: 5 ms\n", "ERROR:  no\n", "{}\n",
		`{"level":"info","ts":"2026-01-05T10:00:00Z","msg":"checkpoint complete: wrote"}` + "\n",
		"2026-01-05 10:00:00,1,2,3,4,5,6,7,8,9,10,11,12\n",
	} {
		if pglog.Format.Sniff([]byte(text)) {
			t.Errorf("%q is a log of PostgreSQL", text)
		}
	}
}

// A real server's logs, in each of its formats, have the checkpoint, the slow statement and the
// temporary file.
func TestReal(t *testing.T) {
	if err := postgrestest.Available(); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "pglog") // the server's user must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	s, err := postgrestest.Start(filepath.Join(dir, "pg"), postgrestest.Options{Conf: "logging_collector = on\n" +
		"log_destination = 'stderr,csvlog,jsonlog'\nlog_checkpoints = on\nlog_min_duration_statement = 0\n" +
		"log_temp_files = 0\nlog_timezone = 'UTC'\nwork_mem = '64kB'\n"})
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"CREATE TABLE t AS SELECT generate_series(1, 50000) AS a", "CHECKPOINT",
		"SELECT count(*) FROM (SELECT a FROM t ORDER BY a DESC) x", "SELECT pg_sleep(0.3)"} {
		if _, err := s.Exec(sql); err != nil {
			t.Error(err)
		}
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}

	files, _ := filepath.Glob(filepath.Join(dir, "pg", "data", "log", "*"))
	if len(files) != 3 {
		t.Fatalf("files: %v", files)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !pglog.Format.Sniff(text) {
			t.Fatalf("%s is not recognised:\n%s", path, text)
		}
		mem, d, err := read(t, string(text))
		if err != nil || !strings.HasPrefix(d.Version, "1") {
			t.Errorf("%s: %+v: %v", path, d, err)
		}
		for _, metric := range []string{"postgres_log_checkpoint_total", "postgres_log_slow_statement_total",
			"postgres_log_temporary_file_bytes_total", "postgres_log_start_total"} {
			if last(t, mem, metric) < 1 {
				t.Errorf("%s has no %s:\n%s", path, metric, text)
			}
		}
	}
}

func read(t testing.TB, text string) (*recording.Memory, recording.Source, error) {
	t.Helper()
	s := pglog.Format.Open(source.File{Path: "pg.log", Modified: begin.AddDate(3, 0, 0), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}})
	if strings.HasPrefix(text, "Jan ") {
		s = pglog.Format.Open(source.File{Path: "pg.log", Modified: begin.Add(time.Hour), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}})
	}
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
	for _, format := range formats {
		f.Add([]byte(format(begin, "LOG", messages[3].message) + "\n"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		pglog.Format.Sniff(b)
		_, _, _ = read(t, string(b))
	})
}
