package judge

import (
	"slices"

	"plimsoll/internal/judge/rules"
)

// felt are the signals that stalls reads.
var felt = []*rules.Signal{WriteWaiting, Writes, ReadWaiting, Reads, WriteCounters, QueuedWriters}

// stalls are those of writes and of reads, by their latency; before 3.4, which tells none, of
// writes by their completions.
func stalls(sig *rules.Signals) []rules.Stall {
	writes := rules.Stall{Rule: "mongodb/slow-writes", Subject: "MongoDB writes", IsDatabase: true, Foremost: true}
	reads := rules.Stall{Rule: "mongodb/slow-reads", Subject: "MongoDB reads", IsDatabase: true, Waiting: sig.One(ReadWaiting), Ops: sig.One(Reads)}
	timed := writes
	timed.Waiting, timed.Ops = sig.One(WriteWaiting), sig.One(Writes)
	out := slices.Concat(rules.Found(rules.ByLatency(sig.Time, rules.StallFloorS, timed)), rules.Found(rules.ByLatency(sig.Time, rules.StallFloorS, reads)))
	if len(out) > 0 {
		return out
	}
	writes.Ops = sig.One(WriteCounters)
	return rules.Found(rules.ByThroughput(sig.Time, writes, sig.One(QueuedWriters), 1))
}
