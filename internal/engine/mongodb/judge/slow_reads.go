package judge

import "plimsoll/internal/judge/rules"

func slowReads() rules.Rule {
	r := rules.SymptomRule("mongodb/slow-reads", "Reads stall",
		"plimsoll:mongodb_read_latency:seconds >= 0.1",
		"This is the latency that clients see. A volume has one queue: reads wait behind the writes of a checkpoint.")
	// A server without reads has no read latency, but it was still watched.
	r.Needs = []*rules.Signal{Reads, ReadWaiting}
	return r
}

func slowCommands() rules.Rule {
	r := rules.SymptomRule("mongodb/slow-commands", "Commands stall",
		"plimsoll:mongodb_command_latency:seconds >= 0.1 and on() (plimsoll:mongodb_commands:rate >= 5)",
		"Commands are everything that is neither a read nor a write: aggregations that write, transaction commits, DDL, pings. Some of them wait by design, so only a latency far from the usual one counts.")
	r.Needs = []*rules.Signal{Commands, CommandWaiting}
	return r
}
