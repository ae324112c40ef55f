package diagnose

import "plimsoll/internal/judge/rules"

// AtThreshold returns a copy of the case whose stalled time is detected again with a fixed
// threshold, a mean latency in seconds, regardless of the usual latency. Comparing two recordings
// needs the same threshold for both. Throughput detectors do not depend on it.
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
