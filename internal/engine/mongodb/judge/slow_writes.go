package judge

import "plimsoll/internal/judge/rules"

func slowWrites() rules.Rule {
	r := rules.SymptomRule("mongodb/slow-writes", "Writes stall",
		"plimsoll:mongodb_write_latency:seconds >= 0.1",
		"What the clients feel. Latency is computed interval by interval from opLatencies; an interval is stalled at five times the median, but not under 20 ms and always from 100 ms on.")
	// Before 3.4 there are no latencies: completions that stop while writers queue tell as much.
	r.Needs, r.AnyOf = []*rules.Signal{}, []*rules.Signal{Writes, WriteCounters}
	return r
}
