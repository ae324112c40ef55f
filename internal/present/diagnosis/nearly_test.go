package diagnosis

import (
	"strings"
	"testing"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/testkit"
)

// Latency that rose ten-fold but stayed below the threshold of a stall is reported, with the threshold
// that would find it. A single slow interval is not, nor a small rise, nor anything if operations
// stalled.
func TestNearly(t *testing.T) {
	of := func(threshold float64, values ...float64) *diagnose.Report {
		r := healthyReport()
		r.Stalls.ThresholdS = threshold
		r.Timeline[0].Values = nil
		for i := range values {
			r.Timeline[0].Values = append(r.Timeline[0].Values, &values[i])
		}
		return r
	}
	risen := of(0.05, 0.0017, 0.0016, 0.0017, 0.0174, 0.0017, 0.0171, 0.0017, 0.0016)
	stalled := of(0.05, 0.0017, 0.0016, 0.0017, 0.0174, 0.0017, 0.0171, 0.0017, 0.0016)
	stalled.Stalls.Seconds = 3

	for _, c := range []struct {
		name   string
		report *diagnose.Report
		want   string
	}{
		{"risen", risen, "rose to 17.4 ms, 10 times the usual 1.70 ms, but stayed below the 50.0 ms from which an interval counts as stalled. If that is what hurts, add --slow-from 8ms."},
		{"one interval", of(0.05, 0.0017, 0.0016, 0.0017, 0.0174, 0.0017, 0.0018), ""},
		{"five-fold", of(0.05, 0.0017, 0.0016, 0.0085, 0.0085, 0.0017, 0.0018), ""},
		{"over the threshold", of(0.015, 0.0017, 0.0016, 0.0017, 0.0174, 0.0017, 0.0171, 0.0017, 0.0016), ""},
		{"stalled", stalled, ""},
	} {
		lead := strings.Join(Document(c.report, Options{Pack: testkit.Pack()}).Lead, "\n")
		if c.want == "" && strings.Contains(lead, "slow-from") || !strings.Contains(lead, c.want) {
			t.Errorf("%s: %q, want %q", c.name, lead, c.want)
		}
	}
}
