package judge

import "plimsoll/internal/judge/rules"

func slowWrites() rules.Rule {
	r := rules.SymptomRule("mongodb/slow-writes", "Writes stall",
		"plimsoll:mongodb_write_latency:seconds >= 0.1",
		"This is the latency that clients see. Latency is computed interval by interval from opLatencies; an interval is stalled at five times the median, but never below 20 ms and always at 100 ms or more.")
	// There are no latencies before 3.4. Completions that stop while writers queue show the same.
	r.Needs, r.AnyOf = []*rules.Signal{}, []*rules.Signal{Writes, WriteCounters}
	return r
}
