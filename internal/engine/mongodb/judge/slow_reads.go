package judge

import "plimsoll/internal/judge/rules"

func slowReads() rules.Rule {
	r := rules.SymptomRule("mongodb/slow-reads", "Reads stall",
		"plimsoll:mongodb_read_latency:seconds >= 0.1",
		"What the clients feel. A volume has one queue: reads wait behind the writes of a checkpoint.")
	// A server nobody reads from has no latency of reads, and yet it was watched.
	r.Needs = []*rules.Signal{Reads, ReadWaiting}
	return r
}
