package diagnose

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// The stalled seconds are found from what clients felt, never from a cause: a
// database's own latency where it tells one, else its throughput, else what the
// device made its users wait.
//
// A second is stalled when the mean latency in it is at least
//
//	clamp(5 x the median, floor, 100 ms)
//
// that is: a tenth of a second is a stall on any volume; for a database's operation 20 ms
// are one where operations usually take four or less. Counters credit a wait when it
// ends, so the cells before, in which fewer operations than usual ended, are
// stalled too, as far back as twice the mean latency reaches.
const (
	stallFloorS   = 0.020 // of a database's operation
	sampledFloorS = 0.050 // the same where it is computed from a count of sessions sampled now and then
	fsyncFloorS   = 0.010 // of a WAL's fdatasync: etcd's own criterion
	deviceFloorS  = 0.005 // of a device's write: several times what flash takes
	deviceQueuedS = 0.010 // of a device's write where it is saturated whenever it writes
	stallCeilingS = 0.100
	stallFactor   = 5
	// minWaiting is how many operations must have been waiting, on average over a cell: a
	// single slow write of an idle server is no stall.
	minWaiting = 0.5
	// quietOps is the part of the usual completions below which a cell is
	// counted to the wait that ended after it.
	quietOps = 0.5
	// maxReachS bounds how far back a latency reaches.
	maxReachS = 600
)

// detect finds stalled time by every detector that can judge, the ones closest to the clients
// first.
func detect(c *rules.Case) []rules.Stall {
	var out []rules.Stall
	add := func(s rules.Stall, ok bool) {
		if ok {
			s.Active = underLoad(s)
			out = append(out, s)
		}
	}
	p := rules.SignalPrefix
	add(byLatency(c, stallFloorS, rules.Stall{Rule: "mongodb/slow-writes", Subject: "MongoDB writes", IsDatabase: true,
		Waiting: c.One(p + "mongodb_write_waiting:ratio"), Ops: c.One(p + "mongodb_writes:rate")}))
	add(byLatency(c, stallFloorS, rules.Stall{Rule: "mongodb/slow-reads", Subject: "MongoDB reads", IsDatabase: true,
		Waiting: c.One(p + "mongodb_read_waiting:ratio"), Ops: c.One(p + "mongodb_reads:rate")}))
	if len(out) == 0 {
		add(byThroughput(c, rules.Stall{Rule: "mongodb/slow-writes", Subject: "MongoDB writes", IsDatabase: true,
			Ops: c.One(p + "mongodb_write_counters:rate")}, c.One(p+"mongodb_queued_writers:count"), 1))
	}
	add(byPostgres(c))
	for _, t := range c.Signal(p + "etcd_wal_fsync_time:ratio") {
		inst := t.Labels.Get("instance")
		add(byLatency(c, fsyncFloorS, rules.Stall{Rule: "etcd/wal-fsync-slow", Subject: subject("etcd WAL fdatasync", inst), IsDatabase: true,
			Waiting: t.Values, Ops: c.For(p+"etcd_wal_fsyncs:rate", "instance", inst)}))
	}
	for _, t := range c.Signal(p + "disk_write_await:seconds") {
		dev := t.Labels.Get("device")
		ops := c.For(p+"disk_writes:rate", "device", dev)
		if ops == nil {
			continue
		}
		waiting := make([]float64, len(ops))
		for k := range waiting {
			waiting[k] = t.Values[k] * ops[k]
			if ops[k] == 0 {
				waiting[k] = 0
			}
		}
		add(byDevice(c, rules.Stall{Rule: "disk/slow-writes", Subject: dev, Waiting: waiting, Ops: ops}))
	}
	return out
}

// minSessions is how many sessions must be executing at once before they are a queue.
const minSessions = 4

// byPostgres judges PostgreSQL, whose exporters tell no latency: by Little's law a transaction
// takes the sessions executing (less the exporter's own and a report) over the commits a second. A second without
// any commit has no such quotient; there the fall of the completions tells.
func byPostgres(c *rules.Case) (rules.Stall, bool) {
	s := rules.Stall{Rule: "postgres/commit-stall", Subject: "PostgreSQL commits", IsDatabase: true,
		Ops: c.One(rules.SignalPrefix + "postgres_commits:rate")}
	fallen, ok := byThroughput(c, s, postgresPressure(c), stallCeilingS)
	if s.Waiting = postgresSessions(c); s.Waiting == nil || s.Ops == nil {
		return fallen, ok
	}
	slow, ok := byLatency(c, sampledFloorS, s)
	atMostTheOldest(c, slow.Latency)
	// A report that runs on when the others have gone home is one session, not a queue.
	queue := max(minSessions, 2*timeline.Quantile(s.Waiting, 0.5))
	slow.Cells = slow.Cells.And(timeline.Where(s.Waiting, func(x float64) bool { return x >= queue })).Or(usedUp(c, slow))
	slow.Cells, slow.Observed = slow.Cells.Or(fallen.Cells), slow.Observed.Or(fallen.Observed)
	return slow, ok
}

// idleOps is the part of a busy cell's completions (their upper quartile) under which a
// cell is idle, unless it stalled.
const idleOps = 0.1

func underLoad(s rules.Stall) timeline.Mask {
	busy := timeline.Quantile(s.Ops, 0.75)
	loaded := timeline.Where(s.Ops, func(x float64) bool { return x > 0 && x >= idleOps*busy })
	return loaded.Or(s.Cells).And(s.Observed)
}

func subject(what, instance string) string {
	if instance == "" {
		return what
	}
	return what + " on " + instance
}

// primary is the stalled time the causes are judged against: that of the databases'
// detectors together, else of the busiest device's.
func primary(all []rules.Stall) rules.Stall {
	var best rules.Stall
	for _, s := range all {
		switch {
		case best.Cells == nil:
			best = s
		case s.IsDatabase == best.IsDatabase && s.Cells.Count() > best.Cells.Count() && worse(best):
			best = s
		case s.IsDatabase && !best.IsDatabase:
			best = s
		}
	}
	return best
}

// worse reports whether a longer stall of something else goes before best: not before
// MongoDB's writes, for this is about why writes stall, unless only reads do.
func worse(best rules.Stall) bool {
	if best.Rule == "mongodb/slow-writes" && best.Any() {
		return false
	}
	return true
}

// byDevice judges a device's writes against what they take while it is not saturated: a log that
// starts and ends within a burst would else call its queueing usual.
func byDevice(c *rules.Case, s rules.Stall) (rules.Stall, bool) {
	busy := c.For(rules.SignalPrefix+"disk_busy:ratio", "device", s.Subject)
	queue := c.For(rules.SignalPrefix+"disk_queue:requests", "device", s.Subject)
	var calm []float64
	saturated := 0
	for k, x := range s.Ops {
		switch {
		case !(x > 0):
		case busy != nil && queue != nil && busy[k] > 0.9 && queue[k] > 2:
			saturated++
		default:
			calm = append(calm, s.Waiting[k]/x)
		}
	}
	if saturated > len(calm) {
		// Hardly seen otherwise: what flash takes has to do for the usual.
		return stalledCells(c, deviceQueuedS, s)
	}
	return stalledCells(c, min(max(stallFactor*timeline.Quantile(calm, 0.5), deviceFloorS), stallCeilingS), s)
}

func byLatency(c *rules.Case, floor float64, s rules.Stall) (rules.Stall, bool) {
	if s.Waiting == nil || s.Ops == nil {
		return s, false
	}
	var active []float64
	for k, x := range s.Ops {
		if x > 0 {
			active = append(active, s.Waiting[k]/x)
		}
	}
	return stalledCells(c, min(max(stallFactor*timeline.Quantile(active, 0.5), floor), stallCeilingS), s)
}

// stalledCells marks the cells whose mean latency is at least the threshold, and those over
// which it reaches.
func stalledCells(c *rules.Case, threshold float64, s rules.Stall) (rules.Stall, bool) {
	n := c.Grid.N
	s.Latency = make([]float64, n)
	s.Observed = timeline.Known(s.Waiting)
	for k := range n {
		s.Latency[k] = math.NaN()
		if s.Ops[k] > 0 {
			s.Latency[k] = s.Waiting[k] / s.Ops[k]
		}
	}
	if timeline.Count(s.Latency) == 0 {
		// Observed, and nothing was written: no stall.
		s.Cells = make(timeline.Mask, n)
		return s, s.Observed.Count() > 0
	}
	s.Threshold = threshold
	usual := timeline.Quantile(s.Ops, 0.5)
	step := c.Grid.StepSeconds()
	s.Cells = make(timeline.Mask, n)
	silences(s, usual, step)
	for k := range n {
		// Over one cell, or over as many as the latency reaches: eight seconds' wait of one
		// writer is credited to the one second in which it ends.
		if !(s.Latency[k] >= s.Threshold) || s.Waiting[k]*step < minWaiting*max(step, s.Latency[k]) {
			continue
		}
		s.Cells[k] = true
		// Requests that come evenly while nothing completes wait half as long as that lasted,
		// on average: the silence before may be twice the mean latency.
		reach := int(math.Ceil(min(2*s.Latency[k], maxReachS)/step)) - 1
		for j := k - 1; j >= 0 && j >= k-reach && s.Ops[j] <= quietOps*usual; j-- {
			s.Cells[j] = true
		}
	}
	s.Cells = s.Cells.And(s.Observed)
	return s, true
}

// silentWaiters is how many operations must have waited through a silence, on average, to make
// it a stall.
const silentWaiters = 4

// silences marks cells in which next to nothing completed although operations waited: what ends in the cell
// after them is credited with at least their length, many times over. The mean latency there
// hides it: a server with 64 connections sees 64 waits of nine seconds, and then thousands of quick writes that
// clients had held back.
func silences(s rules.Stall, usual, step float64) {
	first := -1
	for k, ops := range s.Ops {
		if ops <= quietOps*usual && usual >= minUsualOps {
			if first < 0 {
				first = k
			}
			continue
		}
		if first >= 0 {
			silent := float64(k-first) * step
			if silent >= s.Threshold && silent <= maxReachS && s.Waiting[k]*step >= silentWaiters*silent {
				for j := first; j <= k; j++ {
					s.Cells[j] = true
				}
			}
		}
		first = -1
	}
}

// A throughput stall: completions fall below throughputDrop of the usual ones
// while something is waiting.
const (
	throughputDrop = 0.3
	minUsualOps    = 5.0
)

// byThroughput judges completions where there is no latency; pressure of at least
// atLeast shows that clients still wanted something.
func byThroughput(c *rules.Case, s rules.Stall, pressure []float64, atLeast float64) (rules.Stall, bool) {
	if s.Ops == nil {
		return s, false
	}
	s.Observed = timeline.Known(s.Ops)
	s.Cells = make(timeline.Mask, c.Grid.N)
	var active []float64
	for _, x := range s.Ops {
		if x > 0 {
			active = append(active, x)
		}
	}
	usual := timeline.Quantile(active, 0.5)
	if !(usual >= minUsualOps) || pressure == nil {
		return s, s.Observed.Count() > 0
	}
	for k, x := range s.Ops {
		s.Cells[k] = x < throughputDrop*usual && pressure[k] >= atLeast
	}
	// An open loop catches up after a stall; a second in which the backlog drains
	// between two stalled ones belongs to them.
	s.Cells = s.Cells.Close(1).And(s.Observed)
	return s, true
}
