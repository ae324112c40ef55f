package diagnose_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/ruletest"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// pulses returns ten minutes of a counter at 1 s. In each minute it grows by high for eight seconds
// from the given second on, otherwise by low.
func pulses(from int, low, high float64) string {
	var b strings.Builder
	v := 0.0
	for k := range 600 {
		if (k-from+600)%60 < 8 {
			v += high
		} else {
			v += low
		}
		fmt.Fprintf(&b, " %.6g", v)
	}
	return b.String()
}

// stalling returns a database that stalls from second 30 of each minute, and a device that is saturated
// from another second on, each by its own clock.
func stalling(t *testing.T, saturatedFrom int) (db, dev *recording.Memory) {
	t.Helper()
	db = fromScript(t, `load 1s
    mongodb_ss_opLatencies_latency{op_type="writes"}`+pulses(30, 200_000, 60_000_000)+`
    mongodb_ss_opLatencies_ops{op_type="writes"}`+pulses(30, 200, 100)+`
    mongodb_ss_wt_cache_maximum_bytes_configured 5368709120x599`)
	dev = fromScript(t, `load 1s
    node_disk_io_time_seconds_total{device="sda"}`+pulses(saturatedFrom, 0.1, 1)+`
    node_disk_io_time_weighted_seconds_total{device="sda"}`+pulses(saturatedFrom, 0.1, 50)+`
    node_disk_writes_completed_total{device="sda"}`+pulses(saturatedFrom, 120, 3000)+`
    node_disk_reads_completed_total{device="sda"} 0+10x599
    node_disk_written_bytes_total{device="sda"}`+pulses(saturatedFrom, 491520, 12e6)+`
    node_disk_read_bytes_total{device="sda"} 0+40960x599
    node_disk_write_time_seconds_total{device="sda"}`+pulses(saturatedFrom, 0.1, 50))
	return db, dev
}

func rulesOf(t *testing.T, in ...recording.Reader) (found map[string]string) {
	t.Helper()
	r, err := diagnose.Run(context.Background(), in, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}
	found = map[string]string{}
	for _, f := range r.Findings {
		found[f.Rule] += ruletest.Words(f)
	}
	return found
}

// A device whose clock is off appears idle while the database stalls. That refutes nothing.
func TestClocksThatDiffer(t *testing.T) {
	named := func(db, dev *recording.Memory, devName string) []recording.Reader {
		at := time.Unix(0, 0)
		db.Source(recording.Source{Kind: "ftdc", Name: "diagnostic.data", Engine: "mongodb", From: at, To: at.Add(10 * time.Minute)})
		if devName != "" {
			dev.Source(recording.Source{Kind: "iostat", Name: devName, From: at, To: at.Add(10 * time.Minute)})
		}
		return []recording.Reader{db, dev}
	}

	const refutation, gap = "disk/not-the-cause", "evidence/gap"

	db, dev := stalling(t, 10)
	got := rulesOf(t, named(db, dev, "iostat.log")...)
	if text, ok := got[refutation]; ok {
		t.Errorf("the device's clock is 20 s behind, and yet %s: %s", refutation, text)
	}

	if !strings.Contains(got[gap], "--offset SOURCE=20s") {
		t.Errorf("%s does not state the offset: %q", gap, got[gap])
	}

	db, dev = stalling(t, 30)
	if got := rulesOf(t, named(db, dev, "iostat.log")...); strings.Contains(got[gap], "--offset") {
		t.Errorf("the clocks agree, and yet: %s", got[gap])
	}

	// A single source has a single clock, so what it says about the device at the time of the stall
	// counts.
	db, dev = stalling(t, 10)
	if got := rulesOf(t, named(db, dev, "")...); got[refutation] == "" || strings.Contains(got[gap], "--offset") {
		t.Errorf("with one clock: %v", got)
	}
}
