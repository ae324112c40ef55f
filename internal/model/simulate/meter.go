package simulate

import (
	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/workload"
)

// A meter measures the latency of clients. It counts only operations that start at from or later.
type meter struct {
	from    vtime.Instant
	end     vtime.Instant
	pending []latency.Operation
	cycles  func() []database.Cycle

	arrivals, unanswered, refused int64
	open                          unanswered
	doneInside                    int64 // acknowledged in the measured time, whenever started
	sorted                        latency.Sorter
	waits                         [latency.Classes]waitSum
	// of the operation acknowledged last, if [meter.done] worked them out
	causes           database.Waits
	sync, syncBefore syncWaits // of the latest syncs, and of those before
	syncAt           vtime.Instant
	before           shares // those of syncBefore, if known
	known            bool
	series           *latency.Series // of writes, filled if drawn is set
	drawn            bool
	watch            *watch // nil: no bound ends the run early
	felt             *felt  // nil: nothing is recorded
}

// waitSum sums the waits of the writes in one latency class.
type waitSum struct {
	n       int64
	latency int64
	waits   database.Waits
	causes  database.Waits // the same, handed on
}

func newMeter(from, end vtime.Instant) *meter {
	return &meter{
		from: from, end: end, pending: make([]latency.Operation, 0, pendingFirst),
		series: latency.NewSeries(from, end),
	}
}

func (m *meter) arrived(op *workload.Op) {
	if op.At >= m.from {
		m.arrivals++
		m.unanswered++
		m.open.add(op.At, op.Kind.Writes())
	}
}

func (m *meter) refuse(op *workload.Op) {
	if op.At >= m.from {
		m.refused++
		m.open.refuse(op.At)
	}
}

// done counts an acknowledged operation; wait is not nil if it waited for a connection. others reports
// whether operations wait for the connection that it frees, because they need its causes.
func (m *meter) done(now vtime.Instant, op *workload.Op, waits *database.Waits, wait *queued, others bool) {
	if now >= m.from {
		m.doneInside++
	}

	m.synced(now, waits)
	write, measured := op.Kind.Writes(), op.At >= m.from

	// Handing on causes is costly, so it is skipped unless a result or a waiting operation needs
	// them.
	if others || write && measured {
		m.hand(op, waits, wait)
	}

	if m.felt != nil {
		m.felt.add(write, int64(now-op.At))
	}

	if !measured {
		return
	}

	m.unanswered--
	m.open.answer(op.At)
	took := int64(now - op.At)

	if m.watch != nil {
		m.watch.done(write, took)
	}

	m.pending = append(m.pending, latency.Operation{At: op.At, Took: took, Write: write})
	if len(m.pending) == pendingMax {
		m.classify()
	}

	if !write {
		return
	}

	s := &m.waits[latency.ClassOf(took)]
	s.n++
	s.latency += took

	for i, x := range waits {
		s.waits[i] += x
		s.causes[i] += m.causes[i]
	}

	if wait != nil {
		s.waits[database.WaitConnection] += int64(wait.at - op.At)
	}
}

// hand attributes an operation's waits to their causes. A wait for a sync in progress is a wait for
// whatever that sync waits for. A wait for a connection is a wait for whatever the operation that
// held it waited for. Both are distributed in the proportions of those other waits: the waits of
// the last sync completed before this one, and the waits of the operation that freed the
// connection.
func (m *meter) hand(op *workload.Op, w *database.Waits, q *queued) {
	m.causes = *w
	if turn := w[database.WaitLogTurn]; turn != 0 {
		if b := &m.syncBefore; !m.known {
			m.known = true
			m.before = sharesOf(&database.Waits{
				database.WaitLogQueue: b.queue, database.WaitLogLimit: b.limit, database.WaitLogDevice: b.device,
			})
		}
		m.causes[database.WaitLogTurn] = 0
		spread(&m.causes, turn, &m.before, database.WaitLogTurn)
	}

	if q != nil {
		behind := sharesOf(&q.behind)
		spread(&m.causes, int64(q.at-op.At), &behind, database.WaitConnection)
	}
}

// syncWaits are the waits for a sync of the operations that it acknowledged.
type syncWaits struct{ queue, limit, device int64 }

// synced records the sync that an operation waited for.
func (m *meter) synced(now vtime.Instant, w *database.Waits) {
	s := syncWaits{w[database.WaitLogQueue], w[database.WaitLogLimit], w[database.WaitLogDevice]}
	// All operations of one group commit finish at the same instant. Only the first of them counts
	// as a new sync.
	if s.queue|s.limit|s.device != 0 && now != m.syncAt {
		m.syncBefore, m.sync, m.syncAt, m.known = m.sync, s, now, false
	}
}

// shares are proportions of waits. For a sync they cover all operations that waited for it.
type shares struct {
	n    int
	kind [database.NumWaits]database.Wait
	part [database.NumWaits]float64
}

func sharesOf(w *database.Waits) (s shares) {
	sum := int64(0)
	for _, x := range w {
		sum += x
	}
	if sum <= 0 {
		return s
	}
	for i, x := range w {
		if x != 0 { // as most are
			s.kind[s.n], s.part[s.n] = database.Wait(i), float64(x)/float64(sum)
			s.n++
		}
	}
	return s
}

// spread adds time to waits in the proportions of others. Time that no proportion covers is counted
// for the kind itself.
func spread(to *database.Waits, time int64, as *shares, own database.Wait) {
	rest := time
	if time > 0 {
		for i, kind := range as.kind[:as.n] {
			part := int64(float64(time) * as.part[i])
			to[kind] += part
			rest -= part
		}
	}
	// Rounding leaves a remainder. Adding it keeps the sum equal to the latency.
	to[own] += rest
}

// finish counts the operations without an answer at the end with the time that they have waited, which
// is a lower bound. Those younger than the median prove nothing: most of them are about to be answered.
func (m *meter) finish() {
	m.classify()
	usual := [2]int64{m.sorted.Reads.All().Percentile(50), m.sorted.Writes.All().Percentile(50)}
	m.open.older(m.end, func(at vtime.Instant, write bool) {
		if age := int64(m.end - at); age > usual[kindOf(write)] {
			m.pending = append(m.pending, latency.Operation{At: at, Took: age, Write: write})
		}
	})
	m.classify()
}

// classify assigns acknowledged operations to the cycle of their intended start.
func (m *meter) classify() {
	cycles := m.cycles()
	m.sorted.Sort(m.pending, len(cycles),
		func(i int) (start, end vtime.Instant) { return cycles[i].Start, cycles[i].End })
	for i := 0; m.drawn && i < len(m.pending); i++ {
		if p := &m.pending[i]; p.Write {
			m.series.Add(p.At, p.Took)
		}
	}
	m.pending = m.pending[:0]
}
