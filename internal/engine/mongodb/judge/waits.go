package judge

import "plimsoll/internal/judge/rules"

// waiting maps each class of operations to its waiting time. Together these are the clients'
// operations. serverStatus.opLatencies has a fourth class, transactions, but their operations are
// also counted in the others.
var waiting = map[rules.Class]*rules.Signal{
	rules.Writing:    WriteWaiting,
	rules.Reading:    ReadWaiting,
	rules.Commanding: CommandWaiting,
}

// ofAll is the share of the stalled waiting that a counter of all operations accounts for.
// WiredTiger counts every session without WT_SESSION_INTERNAL (7.0 evict_lru.c:2409): reads,
// writes, and mongod's own threads such as TTL, index builds and the appliers of a secondary. The
// steady part is subtracted as calm; the excess is shared with the other classes' excess waiting.
func ofAll(c *rules.Case, counter *rules.Signal) (share, seconds, of float64, ok bool) {
	var others []*rules.Signal
	for _, class := range []rules.Class{rules.Writing, rules.Reading, rules.Commanding} {
		if class != c.Stall.Class && c.Measured(waiting[class]) {
			others = append(others, waiting[class])
		}
	}
	return c.WaitShare(counter, others...)
}

// ofWrites is the same for a counter that only writes increase. Such a counter is not part of a stall
// of reads.
func ofWrites(c *rules.Case, counter *rules.Signal) (share, seconds, of float64, ok bool) {
	if c.Stall.Class != rules.Writing && c.Stall.Class != rules.Commanding {
		return 0, 0, 0, false
	}
	return c.WaitShareOfOwn(counter)
}

// ofReads is the same for a counter that only reads add to.
func ofReads(c *rules.Case, counter *rules.Signal) (share, seconds, of float64, ok bool) {
	if c.Stall.Class != rules.Reading {
		return 0, 0, 0, false
	}
	return c.WaitShareOfOwn(counter)
}
