// Package examples holds captures of real engines that the documentation and other tests use, and
// tests that check that the captures are complete and match their READMEs.
package examples

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The captures are part of every clone.
const bytesMax = 3 << 20

func TestSize(t *testing.T) {
	var total int64
	err := filepath.WalkDir(".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	if total > bytesMax {
		t.Errorf("examples hold %d bytes, over %d: filter the scrapes further", total, bytesMax)
	}
}

var sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^{}]*\})? (\S+)$`)

func TestScrapes(t *testing.T) {
	want := map[string][]string{
		"postgres-checkpoint/postgres.prom.gz": {"pg_stat_bgwriter_checkpoint_sync_time_total", "pg_stat_bgwriter_checkpoints_timed_total",
			"pg_stat_database_xact_commit", "pg_stat_activity_count", "pg_stat_activity_max_tx_duration",
			"pg_settings_checkpoint_completion_target", "pg_settings_checkpoint_timeout_seconds", "pg_stat_wal_wal_bytes"},
		"postgres-checkpoint/node.prom.gz": {"node_pressure_io_waiting_seconds_total", "node_pressure_io_stalled_seconds_total",
			"node_memory_Dirty_bytes", "node_memory_Writeback_bytes"},
		"etcd-latency-bound/etcd.prom.gz": {"etcd_disk_wal_fsync_duration_seconds_bucket", "etcd_disk_wal_fsync_duration_seconds_sum",
			"etcd_disk_backend_commit_duration_seconds_count", "etcd_server_proposals_committed_total"},
		"etcd-latency-bound/node.prom.gz": {"node_pressure_io_waiting_seconds_total", "node_memory_Dirty_bytes"},
	}
	for name, families := range want {
		t.Run(name, func(t *testing.T) {
			times, seen := scrapes(t, name)
			if len(times) < 100 {
				t.Fatalf("%d scrapes", len(times))
			}

			gaps := make([]int64, 0, len(times))
			for i := 1; i < len(times); i++ {
				gaps = append(gaps, times[i]-times[i-1])
			}

			slices.Sort(gaps)
			if gaps[0] <= 0 {
				t.Error("the scrapes' times do not ascend")
			}

			if median := gaps[len(gaps)/2]; median < 900 || median > 1100 {
				t.Errorf("scrapes are %d ms apart, want 1 s", median)
			}

			for _, family := range families {
				// One or two scrapes may lack it, for example if an exporter had not connected yet.
				if seen[family] < len(times)*9/10 {
					t.Errorf("%s is in %d of %d scrapes", family, seen[family], len(times))
				}
			}
		})
	}
}

// scrapes reads a capture: the scrapes' times in milliseconds, and in how many of them each
// sample name occurs.
func scrapes(t *testing.T, name string) (times []int64, seen map[string]int) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}

	seen = map[string]int{}
	last := map[string]int{}

	s := bufio.NewScanner(z)
	for line := 1; s.Scan(); line++ {
		text := s.Text()
		if at, ok := strings.CutPrefix(text, "# scraped "); ok {
			ms, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				t.Fatalf("%s:%d: %v", name, line, err)
			}
			times = append(times, ms)
			continue
		}

		if strings.HasPrefix(text, "# HELP ") || strings.HasPrefix(text, "# TYPE ") {
			continue
		}

		m := sampleLine.FindStringSubmatch(text)
		if m == nil || len(times) == 0 {
			t.Fatalf("%s:%d: not a sample of a scrape: %q", name, line, text)
		}

		if _, err := strconv.ParseFloat(m[3], 64); err != nil {
			t.Fatalf("%s:%d: %v", name, line, err)
		}

		if last[m[1]] != len(times) {
			last[m[1]] = len(times)
			seen[m[1]]++
		}
	}

	if err := s.Err(); err != nil {
		t.Fatal(err)
	}

	return times, seen
}

// The captures do not contain the name of the machine they were made on.
func TestIostatHeader(t *testing.T) {
	for _, dir := range []string{"postgres-checkpoint", "etcd-latency-bound"} {
		data, err := os.ReadFile(filepath.Join(dir, "iostat.log"))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(data), "\n")
		if !regexp.MustCompile(`^Linux \d+\.\d+ \(example\) `).MatchString(first) {
			t.Errorf("%s: header %q", dir, first)
		}
	}
}

// table reads a tab-separated file: rows by column name; an empty cell is left out.
func table(t *testing.T, name string) []map[string]float64 {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = '\t'

	lines, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}

	var rows []map[string]float64
	for i, line := range lines[1:] {
		row := map[string]float64{}
		for j, cell := range line {
			if cell == "" {
				continue
			}
			x, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				t.Fatalf("%s:%d: column %s: %v", name, i+2, lines[0][j], err)
			}
			row[lines[0][j]] = x
		}

		rows = append(rows, row)
	}

	return rows
}

// Each checkpoint keeps the volume at its limit for seconds and makes transactions take seconds, once
// every 60 s.
func TestPostgresStalls(t *testing.T) {
	const iops, mbPerS = 3000, 48
	type stall struct{ from, seconds, worstMs float64 }
	var stalls []stall

	var calm []float64
	for _, row := range table(t, "postgres-checkpoint/seconds.tsv") {
		pinned := row["writes_per_s"] > 0.97*iops || row["MB_per_s"] > 0.97*mbPerS
		if !pinned {
			if row["max_ms"] < 200 && row["writes_per_s"] > 0 {
				calm = append(calm, row["writes_per_s"])
			}
			// The longest wait ends just after the volume is free again.
			if n := len(stalls); n > 0 && row["unix_s"] < stalls[n-1].from+stalls[n-1].seconds+3 {
				stalls[n-1].worstMs = max(stalls[n-1].worstMs, row["max_ms"])
			}
			continue
		}

		if n := len(stalls); n == 0 || row["unix_s"] > stalls[n-1].from+30 {
			stalls = append(stalls, stall{from: row["unix_s"]})
		}

		last := &stalls[len(stalls)-1]
		last.seconds++
		last.worstMs = max(last.worstMs, row["max_ms"])
	}

	t.Log(stalls)
	if len(stalls) < 4 {
		t.Fatalf("%d stalls, want 4 or more for a period", len(stalls))
	}

	for i, s := range stalls {
		if s.seconds < 5 || s.worstMs < 1000 {
			t.Errorf("stall %d: %g s at the limit, slowest transaction %g ms", i, s.seconds, s.worstMs)
		}
		if i > 0 && (s.from-stalls[i-1].from < 55 || s.from-stalls[i-1].from > 65) {
			t.Errorf("stall %d comes %g s after the one before, want 60", i, s.from-stalls[i-1].from)
		}
	}

	slices.Sort(calm)
	if len(calm) < 100 || calm[len(calm)/2] > 0.75*iops {
		t.Errorf("%d calm seconds, median %v writes/s: the limit is not the checkpoints' doing", len(calm), calm[len(calm)/2])
	}
}

// More IOPS do not give more appends, although the volume serves more requests if clients send them
// concurrently.
func TestEtcdLatencyBound(t *testing.T) {
	fio := table(t, "etcd-latency-bound/fio.tsv")
	if len(fio) != 3 {
		t.Fatalf("%d limits", len(fio))
	}

	for _, row := range fio {
		if row["share_of_limit"] > 0.95 {
			t.Errorf("%g IOPS were used up (%g): not latency-bound", row["iops_limit"], row["share_of_limit"])
		}
		if r := row["appends_per_s"] / fio[0]["appends_per_s"]; r < 0.75 || r > 1.25 {
			t.Errorf("%g IOPS change the appends per second by a factor of %.2f", row["iops_limit"], r)
		}
		// Little's law for one writer: it does nothing but wait.
		if in := row["appends_per_s"] * row["fdatasync_mean_us"] / 1e6; in < 0.9 || in > 1.01 {
			t.Errorf("%g IOPS: %.2f of the time in fdatasync", row["iops_limit"], in)
		}
	}

	if fio[1]["device_writes_per_s_at_depth_32"] < 3*fio[1]["device_writes_per_s"] {
		t.Error("the volume serves no more at depth 32: latency is not the limit")
	}

	phases := table(t, "etcd-latency-bound/phases.tsv")
	for i, row := range phases {
		if row["device_writes_per_s"] > 0.5*3000 {
			t.Errorf("%g clients: %g device writes/s, near the limit of 3,000", row["clients"], row["device_writes_per_s"])
		}
		if i > 0 && row["puts_per_fdatasync"] <= phases[i-1]["puts_per_fdatasync"] {
			t.Errorf("%g clients do not share fdatasyncs", row["clients"])
		}
	}
}

func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("*/*.sh")
	if err != nil || len(scripts) < 5 {
		t.Fatal(scripts, err)
	}
	check, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("no shellcheck (Debian: apt-get install shellcheck)")
	}
	if out, err := exec.Command(check, append([]string{"-x", "-P", ".."}, scripts...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
