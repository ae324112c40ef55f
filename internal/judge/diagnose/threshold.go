package diagnose

import "plimsoll/internal/judge/rules"

// AtThreshold returns the case with its stalled time found anew: an interval is stalled from this mean
// latency in seconds on, whatever is usual. Comparing two recordings needs one threshold for both.
// Throughput detectors do not depend on it. The case itself is not changed.
func AtThreshold(c *rules.Case, seconds float64) *rules.Case {
	out := *c
	out.SlowFrom(seconds)
	out.Symptoms = detect(&out)

	// The same detector as before: with another threshold, a different one could lead.
	for _, s := range out.Symptoms {
		if s.Rule == c.Stall.Rule && s.Subject == c.Stall.Subject {
			out.Stall = s
		}
	}
	return &out
}
