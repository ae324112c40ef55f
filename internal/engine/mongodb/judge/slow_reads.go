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

func slowCommands() rules.Rule {
	r := rules.SymptomRule("mongodb/slow-commands", "Commands stall",
		"plimsoll:mongodb_command_latency:seconds >= 0.1 and on() (plimsoll:mongodb_commands:rate >= 5)",
		"Whatever is neither a read nor a write: aggregations that write, transactions' commits, DDL, pings. Some of them wait by nature, so only a latency far from the usual one counts.")
	r.Needs = []*rules.Signal{Commands, CommandWaiting}
	return r
}
