package judge

import (
	"slices"

	"plimsoll/internal/judge/rules"
)

// felt are the signals that stalls reads.
var felt = []*rules.Signal{WriteWaiting, Writes, ReadWaiting, Reads, WriteCounters, QueuedWriters}

// stalls are those of writes and of reads, by their latency; before 3.4, which tells none, of writes by their
// completions.
func stalls(c *rules.Case) []rules.Stall {
	writes := rules.Stall{Rule: "mongodb/slow-writes", Subject: "MongoDB writes", IsDatabase: true, Foremost: true}
	reads := rules.Stall{Rule: "mongodb/slow-reads", Subject: "MongoDB reads", IsDatabase: true, Waiting: c.One(ReadWaiting), Ops: c.One(Reads)}
	timed := writes
	timed.Waiting, timed.Ops = c.One(WriteWaiting), c.One(Writes)
	out := slices.Concat(rules.Found(rules.ByLatency(c, rules.StallFloorS, timed)), rules.Found(rules.ByLatency(c, rules.StallFloorS, reads)))
	if len(out) > 0 {
		return out
	}
	writes.Ops = c.One(WriteCounters)
	return rules.Found(rules.ByThroughput(c, writes, c.One(QueuedWriters), 1))
}
