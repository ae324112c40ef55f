package diagnose_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
)

// Checkpoints of 8.1 s saturate a device while no client waits, because the journal is elsewhere.
// Nothing stalls, and the report says that the device was slow during checkpoints. It does not say so
// about slow times outside checkpoints, or if no source reports checkpoints.
func TestSlowDeviceInCheckpoints(t *testing.T) {
	const length = 20 * time.Minute
	quick, full := capped(400, 3000, 0.0008, 16, 0), capped(5000, 3000, 0.0008, 16, 0)
	run := func(t *testing.T, checkpoints bool, slow func(s float64) bool) *diagnose.Report {
		t.Helper()
		w := forms(t, time.Second, length)
		w.counter(func(s float64) float64 { return 400 * jitter(s, "ops", 0.05) }, "mongodb_ss_opLatencies_ops", "op_type", "writes").
			counter(func(s float64) float64 { return 400 * jitter(s, "ops", 0.05) * 3000 }, "mongodb_ss_opLatencies_latency", "op_type", "writes").
			node("nvme1n1", func(s float64) did {
				if slow(s) {
					return full(s)
				}
				return quick(s)
			})

		if checkpoints {
			// It is credited when it ends.
			w.counter(func(s float64) float64 {
				if math.Mod(s, 68) == 48 {
					return 8100
				}
				return 0
			}, "mongodb_ss_wt_txn_transaction_checkpoint_total_time_msecs")
		}

		return w.diagnose(diagnose.Options{})
	}

	inCheckpoint := func(s float64) bool { return math.Mod(s, 68) > 40 && math.Mod(s, 68) <= 48 }
	const said = "checkpoints of up to 8.10 s"

	r := run(t, true, inCheckpoint)
	if !strings.HasPrefix(r.Verdict, "No stall") || !strings.Contains(r.Verdict, "nvme1n1 was slow in 17 of 17 "+said) {
		t.Errorf("in checkpoints: %s", r.Verdict)
	}

	if f := foundAnywhere(r, "disk/slow-writes"); f == nil || !strings.Contains(f.Summary, said) || len(f.Windows) == 0 {
		t.Errorf("the finding: %+v", f)
	}

	for name, r := range map[string]*diagnose.Report{
		"at other times": run(t, true, func(s float64) bool { return math.Mod(s*1.37+9, 97) < 8 && !inCheckpoint(s) }),
		"not measured":   run(t, false, inCheckpoint),
	} {
		if f := foundAnywhere(r, "disk/slow-writes"); f == nil || strings.Contains(f.Summary+r.Verdict, "checkpoint") {
			t.Errorf("%s: %s %+v", name, r.Verdict, f)
		}
	}
}
