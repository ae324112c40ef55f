package examples

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

const wiredtiger = "wiredtiger-journal"

// wantedOfWiredTiger are the families the rules about WiredTiger need, as its 3.2 names them.
var wantedOfWiredTiger = []string{"mongodb_ss_opLatencies_latency", "mongodb_ss_opLatencies_ops",
	"mongodb_ss_wt_cache_bytes_currently_in_the_cache", "mongodb_ss_wt_cache_maximum_bytes_configured",
	"mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache", "mongodb_ss_wt_cache_pages_evicted_by_application_threads",
	"mongodb_ss_wt_thread_yield_application_thread_time_waiting_for_cache_usecs",
	"mongodb_ss_wt_thread_yield_application_thread_time_evicting_usecs",
	"mongodb_ss_wt_txn_transaction_checkpoint_currently_running", "mongodb_ss_wt_txn_transaction_checkpoint_most_recent_time_msecs",
	"mongodb_ss_wt_txn_transaction_checkpoint_total_time_msecs",
	"mongodb_ss_wt_block_manager_bytes_written", "mongodb_ss_wt_block_manager_bytes_written_for_checkpoint",
	"mongodb_ss_wt_log_log_sync_operations", "mongodb_ss_wt_log_log_sync_time_duration_usecs",
	"mongodb_ss_wt_log_log_bytes_of_payload_data", "mongodb_ss_wt_thread_state_active_filesystem_fsync_calls", "mongodb_ss_wt_perf"}

func TestWiredTigerScrapes(t *testing.T) {
	for name, families := range map[string][]string{
		"wiredtiger.prom.gz": wantedOfWiredTiger,
		"node.prom.gz": {"node_memory_Dirty_bytes", "node_memory_Writeback_bytes", "node_cpu_seconds_total",
			"node_pressure_io_waiting_seconds_total"},
	} {
		times, seen := scrapes(t, filepath.Join(wiredtiger, name))
		for _, family := range families {
			if seen[family] < len(times)*9/10 || len(times) < 280 {
				t.Errorf("%s: %s is in %d of %d scrapes", name, family, seen[family], len(times))
			}
		}
	}

	data, err := os.ReadFile(filepath.Join(wiredtiger, "iostat.log"))
	if err != nil {
		t.Fatal(err)
	}

	if !regexp.MustCompile(`^Linux \d+\.\d+ \(example\) `).Match(data) {
		t.Errorf("iostat.log names its host: %q", strings.SplitN(string(data), "\n", 2)[0])
	}
}

// Updates stall only while the volume is at its throughput limit, and while the backlog is served.
func TestWiredTigerStalls(t *testing.T) {
	const mbPerS, catchUpS = 48, 12
	var pinned, stalled, apart, calm int

	last := 0.0 // when it was last at its limit
	for _, row := range table(t, wiredtiger+"/seconds.tsv") {
		if row["MB_per_s"] > 0.9*mbPerS {
			pinned++
			last = row["unix_s"]
		}
		switch {
		case row["p50_ms"] > 500:
			stalled++
			if row["unix_s"] > last+catchUpS {
				apart++
			}
		case row["p50_ms"] > 0 && row["p50_ms"] < 20:
			calm++
		}
	}

	if pinned < 30 || stalled < 30 || calm < 100 {
		t.Errorf("%d s at the limit, %d s stalled, %d s calm: the capture shows no stalls beside calm", pinned, stalled, calm)
	}

	if apart*10 > stalled {
		t.Errorf("%d of %d stalled seconds have nothing to do with the volume's limit", apart, stalled)
	}
}

// diagnosis reads the sources in folders and diagnoses them together.
func diagnosis(t *testing.T, dirs ...string) *diagnose.Report {
	t.Helper()
	ctx := context.Background()

	var files []string
	for _, dir := range dirs {
		more, err := recognise.For(engine.All().Sources()).Expand(dir)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}

	var in []recording.Reader
	for _, file := range files {
		input, err := recognise.For(engine.All().Sources()).Open(ctx, file, recognise.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}

		if input.Reader != nil {
			t.Cleanup(func() {
				if err := input.Reader.Close(); err != nil {
					t.Error(err)
				}
			})
			in = append(in, input.Reader)
			continue
		}

		mem := recording.NewMemory(recording.MemoryOptions{})
		if err := input.Source.Read(ctx, mem, source.Options{Want: diagnose.Wants(testkit.Pack())}); err != nil {
			t.Fatalf("%s: %v", file, err)
		}

		in = append(in, mem)
	}

	report, err := diagnose.Run(ctx, in, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	return report
}

// The journal waits behind the page cache, which the OS flushes at the volume's throughput limit,
// between checkpoints too. The cache has room.
func TestWiredTigerDiagnosis(t *testing.T) {
	found := map[string]rules.Finding{}
	var causes []string
	for _, f := range diagnosis(t, wiredtiger).Findings {
		found[f.Rule] = f
		if f.Kind == rules.Cause {
			causes = append(causes, f.Rule)
		}
	}

	for rule, word := range map[string]string{
		"wiredtiger/journal-stall":    "page cache written earlier, which the OS was flushing",
		"host/writeback-backlog":      "the OS was flushing its page cache",
		"disk/throughput-capped":      "48.",
		"mongodb/slow-writes":         "stalled",
		"wiredtiger/checkpoint-stall": "",
	} {
		f, ok := found[rule]
		switch {
		case !ok:
			t.Errorf("no %s", rule)
		case !strings.Contains(f.Summary, word):
			t.Errorf("%s does not say %q: %s", rule, word, f.Summary)
		case rule != "wiredtiger/checkpoint-stall" && f.Severity != rules.Critical:
			t.Errorf("%s is %s", rule, f.Severity)
		}
	}

	// Checkpoints contribute, but they are not the main cause of the stalls.
	if slices.Index(causes, "wiredtiger/checkpoint-stall") < slices.Index(causes, "host/writeback-backlog") {
		t.Errorf("checkpoints come before the page cache: %v", causes)
	}

	for _, innocent := range []string{"wiredtiger/cache-pressure", "wiredtiger/app-eviction", "disk/iops-capped",
		"disk/not-the-cause", "disk/latency-bound"} {
		if f, ok := found[innocent]; ok {
			t.Errorf("%s is no part of it: %s", innocent, f.Summary)
		}
	}
}

// The program compiles, runs a small load, and reports the metrics that the rules need.
func TestWiredTigerWorker(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc (Debian: apt-get install gcc)")
	}

	if err := exec.Command("gcc", "-E", "-include", "wiredtiger.h", "-x", "c", "/dev/null").Run(); err != nil {
		t.Skip("no WiredTiger to compile with (Debian 12: apt-get install libwiredtiger-dev libc6-dev)")
	}

	dir := t.TempDir()
	worker, home := filepath.Join(dir, "worker"), filepath.Join(dir, "home")
	run := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}

	run("gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-o", worker,
		wiredtiger+"/worker.c", wiredtiger+"/names.c", "-lwiredtiger", "-lpthread", "-lm")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}

	small := []string{home, "--documents", "500", "--cache-mb", "20"}
	run(worker, append([]string{"load"}, small...)...)
	pages := filepath.Join(dir, "pages.prom")

	out := run(worker, append([]string{"run", "--rate", "50", "--threads", "4", "--seconds", "3",
		"--checkpoint-seconds", "1", "--scrapes", pages}, small...)...)
	if !regexp.MustCompile(`(?m)^checkpoint\t.*\n(.*\n)*latency of all \d+ updates.* p99 [\d.]+ .* max [\d.]+$`).MatchString(out) {
		t.Errorf("it tells no checkpoint, or no latencies:\n%s", out)
	}

	text, err := os.ReadFile(pages)
	if err != nil {
		t.Fatal(err)
	}

	for _, family := range wantedOfWiredTiger {
		if !regexp.MustCompile(`(?m)^` + family + `(\{[^{}]*\})? \d+$`).Match(text) {
			t.Errorf("no %s", family)
		}
	}
}
