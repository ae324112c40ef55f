package diagnose_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// A guest whose clock was set back counts 2.8 s of I/O in one second. It was busy for all of that
// second, not more.
func TestNeverBusierThanAllTheTime(t *testing.T) {
	mem := recording.NewMemory(recording.MemoryOptions{})
	var series []labels.Labels
	for _, m := range []string{"io_time_ms", "io_queued_ms", "writes", "reads", "write_sectors", "read_sectors", "write_time_ms"} {
		series = append(series, labels.FromStrings("__name__", "mongodb_sys_disks_"+m, "device_name", "sde"))
	}

	b := &recording.Batch{Columns: make([]recording.Column, len(series))}
	for i, ls := range series {
		b.Columns[i].Labels = ls
	}

	at := make([]float64, len(series))
	for s := range 120 {
		b.TimesMs = append(b.TimesMs, int64(1_700_000_000_000+1000*s))
		busy := 100.0
		if s == 60 {
			busy = 2820
		}
		for i, step := range []float64{busy, busy, 50, 10, 4000, 800, busy} {
			at[i] += step
			b.Columns[i].Values = append(b.Columns[i].Values, at[i])
		}
	}

	if err := mem.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}

	mem.Source(recording.Source{Kind: "ftdc", Name: "x", Engine: "mongodb", From: time.UnixMilli(b.TimesMs[0]), To: time.UnixMilli(b.TimesMs[119])})
	r, err := diagnose.Run(context.Background(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	seen := 0.0
	for _, tr := range r.Timeline {
		if !strings.HasSuffix(tr.Name, " busy") {
			continue
		}
		for _, v := range tr.Values {
			if v != nil {
				seen = max(seen, *v)
			}
		}
	}

	if seen != 1 {
		t.Errorf("sde was busy %v of the time, want 1 at most and there", seen)
	}
}

// Reads and writes of a device stall together. The verdict names the kind that accounts for nearly all
// of the waiting. With about as many writes it names the writes, because the program explains why
// writes stall.
func TestVerdictNamesWhatWaitsMost(t *testing.T) {
	for _, x := range []struct {
		writes float64
		want   string
	}{{6, "Reads of xvda"}, {60, "Writes of xvda"}} {
		small := func(s float64) did {
			return did{reads: 88, readKiB: 10, readS: 0.185, writes: x.writes, writeKiB: 9, writeS: 0.133, busy: 0.99}
		}

		r := forms(t, time.Second, time.Minute).node("xvda", small).diagnose(diagnose.Options{})
		if !strings.HasPrefix(r.Verdict, x.want+" stalled for") {
			t.Errorf("%v writes per second: %s", x.writes, r.Verdict)
		}
	}
}
