package diagnose_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// quiet is a server with a write every few seconds, one of which took 340 ms.
const quiet = `load 1s
    mongodb_ss_opLatencies_latency{op_type="writes"} 0+0x20 1000+0x9 341000+0x9 342000+0x20
    mongodb_ss_opLatencies_ops{op_type="writes"} 0+0x20 1+0x9 2+0x9 3+0x20
    mongodb_ss_wt_cache_maximum_bytes_configured 5368709120x60`

// The plot next to a verdict shows the slow write, and the verdict does not deny it.
func TestVerdictNamesSingleSlowOperations(t *testing.T) {
	r, err := diagnose.Run(context.Background(), []recording.Reader{fromScript(t, quiet)}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Stalls.Seconds != 0 {
		t.Fatalf("stalled for %g s, want none: a single write of an idle server is not a stall", r.Stalls.Seconds)
	}
	if want := "took up to 340 ms"; !strings.HasPrefix(r.Verdict, "No stall") || !strings.Contains(r.Verdict, want) {
		t.Errorf("verdict %q, want %q in it", r.Verdict, want)
	}
}

// An empty time range is not the same as a source without metrics.
func TestNothingBetweenFromAndTo(t *testing.T) {
	empty := recording.NewMemory(recording.MemoryOptions{})
	for _, c := range []struct {
		from time.Time
		want string
	}{{time.Unix(4e9, 0), "between --from and --to"}, {time.Time{}, "none of the metrics"}} {
		_, err := diagnose.Run(context.Background(), []recording.Reader{empty}, diagnose.Options{Pack: testkit.Pack(), From: c.from})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("from %v: %v, want %q", c.from, err, c.want)
		}
	}
}

// fio reports latencies, but not those of a database's clients.
func TestVerdictOfABenchmark(t *testing.T) {
	mem := fromScript(t, `load 1s
    fio_write_iops{job="wal"} 1000x10
    fio_job_iodepth{job="wal"} 1x10`)
	mem.Source(recording.Source{Kind: "fio", Name: "wal.json"})
	r, err := diagnose.Run(context.Background(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Verdict, "A benchmark has no waiting clients") || strings.Contains(r.Verdict, "No source here reports") {
		t.Errorf("verdict %q", r.Verdict)
	}
}

// If no source shows clients waiting, there is no cause, but there are findings.
func TestVerdictWithoutClients(t *testing.T) {
	r, err := diagnose.Run(context.Background(), []recording.Reader{fromScript(t, `load 15s
    iris_wd_cycle_time 120000x80`)}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Verdict, "Also found: the write daemon") || strings.Contains(r.Verdict, "Why:") {
		t.Errorf("verdict %q", r.Verdict)
	}
}

// nearly is a PostgreSQL server on sdb whose commits take 40 ms for ten seconds, next to a backup that moves
// much more data on its own disk, sda.
const nearly = `load 1s
    pg_stat_database_xact_commit{datname="bench"} 0+500x60
    pg_stat_database_xact_rollback{datname="bench"} 0x60
    pg_stat_activity_max_tx_duration{datname="bench",state="active"} 0.01x20 0.04x9 0.01x29
    pg_stat_activity_count{datname="bench",state="active"} 3x20 21x9 3x29
    pg_stat_activity_count{datname="bench",state="idle"} 40x60
    node_disk_io_time_seconds_total{device="sda"} 0+0.3x60
    node_disk_io_time_seconds_total{device="sdb"} 0+0.9x60
    node_disk_written_bytes_total{device="sda"} 0+200000000x60
    node_disk_written_bytes_total{device="sdb"} 0+8000000x60
    node_disk_read_bytes_total{device="sda"} 0x60
    node_disk_read_bytes_total{device="sdb"} 0x60`

// A near stall is reported, not denied. The device shown is the busy one, not the one with the most
// throughput.
func TestVerdictNearAStall(t *testing.T) {
	r, err := diagnose.Run(context.Background(), []recording.Reader{fromScript(t, nearly)}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	if want := "mean latency peaked at 40.0 ms; a stall starts at 50.0 ms"; !strings.Contains(r.Verdict, want) {
		t.Errorf("verdict %q, want %q in it", r.Verdict, want)
	}

	shown := false
	for _, track := range r.Timeline {
		if strings.HasPrefix(track.Name, "sda ") {
			t.Errorf("%s is shown", track.Name)
		}
		shown = shown || track.Name == "sdb busy"
	}

	if !shown {
		t.Error("sdb is not shown")
	}
}

// What a finding adds about one of several incidents appears in that incident's verdict. In the overall
// verdict, "no volume fixes this" would apply to the others, too.
func TestAddedToOneIncident(t *testing.T) {
	lock := diagnose.Finding{Rule: "postgres/lock-wait", Subject: "postgres", Opening: "No volume fixes this."}
	general := diagnose.Finding{Rule: "evidence/volume-not-seen", Subject: "sources", Closing: "The volume is not here."}
	r := &diagnose.Report{Incident: 1, Findings: []diagnose.Finding{lock, general},
		Incidents: []diagnose.Incident{{Findings: []diagnose.Finding{lock}}, {}}}
	before, after := r.Added()
	if len(before) > 0 || len(after) != 1 || after[0] != general.Closing {
		t.Errorf("before %q, after %q; want only %q", before, after, general.Closing)
	}
}

// Azure, Google and sar have one latency for a disk's reads and writes. It is neither of the two that
// the kernel counts.
func TestCombinedLatencyIsNotTheKernels(t *testing.T) {
	const azure = `load 1m
    azure_microsoft_compute_virtualmachines_data_disk_latency_average_milliseconds{resourceName="data"} 4x20 400x4 4x24
    azure_microsoft_compute_virtualmachines_data_disk_queue_depth_average_count{resourceName="data"} 1x20 160x4 1x24
    azure_microsoft_compute_virtualmachines_data_disk_read_operations_sec_average_countpersecond{resourceName="data"} 100x50
    azure_microsoft_compute_virtualmachines_data_disk_write_operations_sec_average_countpersecond{resourceName="data"} 300x50`
	r, err := diagnose.Run(context.Background(), []recording.Reader{fromScript(t, azure)}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	found := 0
	for _, f := range r.Findings {
		if f.Kind != diagnose.Symptom || f.Subject != "data" {
			continue
		}
		if found++; strings.Contains(f.Cause, "kernel") || f.Title != "The device's requests are slow" {
			t.Errorf("%s: %s", f.Title, f.Cause)
		}
	}
	if found != 1 {
		t.Errorf("%d symptoms of the disk, want one", found)
	}
}
