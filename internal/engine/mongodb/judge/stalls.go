package judge

import (
	"slices"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// felt are the signals that stalls reads.
var felt = []*rules.Signal{WriteWaiting, Writes, ReadWaiting, Reads, CommandWaiting, Commands, WriteCounters,
	QueuedWriters, ActiveWriters, ActiveConnections, Connections, OperationsInProgress,
	ApplyTime, ApplyBatches, ApplyBuffer, OwnLag, MemberLag, loggedWrites.Running, loggedWrites.Count,
	loggedWrites.Longest}

// stalls returns the stalls of writes and reads, by latency, and of commands. Some commands wait by
// design (for a change, for a heartbeat), so only latencies far from the usual count there. Before
// 3.4, which reports no latencies, writes are judged by their completions.
func stalls(sig *rules.Signals) []rules.Stall {
	writes := rules.Stall{Rule: "mongodb/slow-writes", Subject: "MongoDB writes", Class: rules.Writing,
		IsDatabase: true, Foremost: true}
	reads := rules.Stall{Rule: "mongodb/slow-reads", Subject: "MongoDB reads", Class: rules.Reading,
		IsDatabase: true, Waiting: sig.One(ReadWaiting), Ops: sig.One(Reads),
		Of: []*rules.Signal{ReadWaiting, Reads}}
	commands := rules.Stall{Rule: "mongodb/slow-commands", Subject: "MongoDB commands", Class: rules.Commanding,
		IsDatabase: true, Aside: true, Waiting: sig.One(CommandWaiting), Ops: sig.One(Commands),
		Of: []*rules.Signal{CommandWaiting, Commands}}
	timed := writes
	timed.Waiting, timed.Ops, timed.Of = sig.One(WriteWaiting), sig.One(Writes),
		[]*rules.Signal{WriteWaiting, Writes}
	timed.Queued = waitingWriters(sig)
	front := usedUp(sig)

	out := slices.Concat(slowOr(front, sig, timed), slowOr(front, sig, reads),
		rules.Found(rules.ByUsual(sig.Time, rules.StallCeilingS, commands)), applyStall(sig))
	if len(out) > 0 && sig.Covers(Writes) {
		return out
	}

	// Metrics of a scrape every 15 s show no stall of seconds; the log does.
	if logged := loggedStalls(sig); len(out)+len(logged) > 0 {
		return append(out, logged...)
	}

	writes.Ops, writes.Of = sig.One(WriteCounters), []*rules.Signal{WriteCounters, QueuedWriters}
	return rules.Found(rules.ByThroughput(sig.Time, writes, sig.One(QueuedWriters), 1))
}

// usedUp marks the cells in which nearly all clients' connections have an operation in progress.
func usedUp(sig *rules.Signals) timeline.Mask {
	active, all := sig.One(ActiveConnections), sig.One(Connections)
	progress := around(sig.One(OperationsInProgress), sig.Cells(littleS))
	used := make(timeline.Mask, sig.Grid.N)
	for k := range min(len(active), len(all), len(progress)) {
		used[k] = all[k] >= leastConnections && active[k] > saturatedConnections*all[k] &&
			progress[k] >= borneOut*active[k]
	}
	return used
}

// littleS is the averaging time for operations in progress, because latencies are credited when
// operations end.
const littleS = 5 * time.Second

// around is the mean of the values before or after each cell, whichever is higher, so that the
// edges of a busy period are as high as its middle.
func around(values []float64, cells int) []float64 {
	out := make([]float64, len(values))
	for k := range values {
		before, after := timeline.Mean(values[max(0, k-cells+1):k+1]),
			timeline.Mean(values[k:min(len(values), k+cells)])
		// NaN compares false, so the side that has values wins.
		if out[k] = before; !(before >= after) && after == after {
			out[k] = after
		}
	}
	return out
}

// slowOr returns the stalls of a kind of operations, judged by latency, plus the cells in which
// clients wait in front of the server for a connection from their pools.
func slowOr(used timeline.Mask, sig *rules.Signals, s rules.Stall) []rules.Stall {
	s, ok := rules.ByLatency(sig.Time, rules.StallFloorS, s)
	if ok {
		// In a stall, all connections wait anyway.
		front := sig.InFront(used.Without(s.Cells))
		s.Cells = s.Cells.Or(front.And(timeline.Where(s.Ops, func(x float64) bool { return x > 0 })))
		s.Observed = s.Observed.Or(s.Cells)
	}
	return rules.Found(s, ok)
}

// fewWriters is the number of operations that may legitimately write for long while nothing
// completes, such as an index build or an update of many documents.
const fewWriters = 3

// waitingWriters is the number of writes that wait at a given moment: those queued for a ticket, or
// those holding one beyond a few. It is nil if neither is reported.
func waitingWriters(sig *rules.Signals) []float64 {
	queued, active := sig.One(QueuedWriters), sig.One(ActiveWriters)
	if queued == nil && active == nil {
		return nil
	}

	out := make([]float64, sig.Grid.N)
	for k := range out {
		if queued != nil {
			out[k] = queued[k]
		}
		// Negated so that a missing queue length (NaN) is replaced too.
		if active != nil && !(out[k] >= active[k]-fewWriters) {
			out[k] = active[k] - fewWriters
		}
	}

	return out
}
