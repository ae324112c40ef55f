package judge

import (
	"slices"

	"plimsoll/internal/judge/rules"
)

// felt are the signals that stalls reads.
var felt = []*rules.Signal{WriteWaiting, Writes, ReadWaiting, Reads, CommandWaiting, Commands, WriteCounters, QueuedWriters}

// stalls are those of writes and of reads, by their latency, and of commands, among which are some
// that wait by nature (for a change, for a heartbeat): only what is far from usual stalls. Before
// 3.4, which tells no latency, they are those of writes by their completions.
func stalls(sig *rules.Signals) []rules.Stall {
	writes := rules.Stall{Rule: "mongodb/slow-writes", Subject: "MongoDB writes", Class: rules.Writing, IsDatabase: true, Foremost: true}
	reads := rules.Stall{Rule: "mongodb/slow-reads", Subject: "MongoDB reads", Class: rules.Reading, IsDatabase: true, Waiting: sig.One(ReadWaiting), Ops: sig.One(Reads)}
	commands := rules.Stall{Rule: "mongodb/slow-commands", Subject: "MongoDB commands", Class: rules.Commanding, IsDatabase: true, Aside: true, Waiting: sig.One(CommandWaiting), Ops: sig.One(Commands)}
	timed := writes
	timed.Waiting, timed.Ops = sig.One(WriteWaiting), sig.One(Writes)
	out := slices.Concat(rules.Found(rules.ByLatency(sig.Time, rules.StallFloorS, timed)), rules.Found(rules.ByLatency(sig.Time, rules.StallFloorS, reads)),
		rules.Found(rules.ByUsual(sig.Time, rules.StallCeilingS, commands)))
	if len(out) > 0 {
		return out
	}
	writes.Ops = sig.One(WriteCounters)
	return rules.Found(rules.ByThroughput(sig.Time, writes, sig.One(QueuedWriters), 1))
}
