//go:build linux

package loadgen

import (
	"fmt"
	"time"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/lab"
)

// A Result is the outcome of a run so far.
type Result struct {
	// Operations were acknowledged before the end, roughly in order of acknowledgement.
	Operations []latency.Operation
	// Asked counts the operations due in the measured time, and Refused those of them that arrived
	// while too many were waiting.
	Asked, Refused int64
	Failed         int64            // operations that returned an error
	Errors         map[string]int64 // by text; the number of distinct texts is bounded
	// How late operations began although a connection was free, in the warm-up and measured time of
	// an open loop.
	LateP50, LateP99, LateMax units.Duration
	// Behind means that the load generator could not keep up, so that its lateness is a significant
	// part of the latencies: its median exceeds 100 us plus a tenth of theirs, or its p99 exceeds 1
	// ms plus a tenth of theirs.
	Behind bool
	// Pauses are those of this machine. Operations affected by them are marked.
	Pauses Pauses
	// Forgotten counts writes to keys beyond the number that can be remembered.
	Forgotten int64
}

// How late a load generator may be, in addition to a tenth of the latencies, before it is reported.
// Rented volumes take 500 us and more for a write, and a virtual machine's timers and CPUs are
// occasionally this late.
const (
	lateP50 = 100 * time.Microsecond
	lateP99 = time.Millisecond
)

// behind compares lateness with the latencies that it is part of.
func behind(late, all *latency.Distribution) bool {
	over := func(percentile float64, free time.Duration) bool {
		return late.Percentile(percentile) > int64(free)+all.Percentile(percentile)/10
	}
	return over(50, lateP50) || over(99, lateP99)
}

// Known is what is known about the writes of a key.
type Known struct{ Acknowledged, Issued uint64 } // Seq; 0: none

// Totals are the counters of a run, including the warm-up, as an exporter in its clients would
// report them.
type Totals struct {
	At                           vtime.Instant // workload time
	Asked, Done, Refused, Failed int64
	Waiting                      int64 // sent but not answered, failed or refused
	Reads, Writes                KindTotals
	// P99 is the p99 of all operations in the measured time so far; 0: none.
	P99 units.Duration
}

// KindTotals are the totals of one kind of operation.
type KindTotals struct {
	Done int64
	Took units.Duration // summed over operations
	// Max is the longest since the last call of Totals.
	Max units.Duration
	// Felt is the latency histogram, in a recording's buckets.
	Felt latency.Buckets
}

// counts are a Generator's counters, guarded by its lock.
type counts struct {
	operations                       []latency.Operation
	askedAll, refusedAll             int64
	asked, refused, finished, failed int64 // asked and refused: of the measured time
	errors                           map[string]int64
	first                            error // the one to return
	reads, writes                    KindTotals
	all                              latency.Distribution // in the measured time
	lateness                         latency.Distribution
	forgotten                        int64
}

func (c *counts) done(op latency.Operation, from vtime.Instant) {
	c.finished++
	c.operations = append(c.operations, op)
	k := &c.reads
	if op.Write {
		k = &c.writes
	}
	k.Done++
	k.Took += units.Duration(op.Took)
	k.Max = max(k.Max, units.Duration(op.Took))
	k.Felt.Add(op.Took)
	if op.At >= from {
		c.all.Add(op.Took)
	}
}

func (c *counts) fail(err error) {
	c.failed++
	if c.first == nil {
		c.first, c.errors = err, map[string]int64{}
	}
	text := err.Error()
	if _, ok := c.errors[text]; !ok && len(c.errors) >= errorsMax {
		text = "others"
	}
	c.errors[text]++
}

// failing reports whether too many operations failed.
func (c *counts) failing() bool { return c.failed*errorsShare > c.failed+c.finished }

func (c *counts) failure() error {
	return fmt.Errorf("%d of %d operations failed, the first with: %w", c.failed, c.failed+c.finished, c.first)
}

func (d *Generator) asked(at vtime.Instant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count.askedAll++
	if at >= d.cfg.From {
		d.count.asked++
	}
}

func (d *Generator) refused(at vtime.Instant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count.refusedAll++
	if at >= d.cfg.From {
		d.count.refused++
	}
}

// late records how much later than possible an operation began.
func (d *Generator) late(by vtime.Instant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count.lateness.Add(int64(by))
}

// issued records that a write is about to be sent.
func (d *Generator) issued(op *lab.Op) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.known[op.Key]
	if !ok && len(d.known) >= rememberedMax {
		d.count.forgotten++
		return
	}
	k.Issued = op.Seq
	d.known[op.Key] = k
}

// Known returns what is known about each key that was written. It requires Config.Remember, and may
// be called between two Runs.
func (d *Generator) Known() map[uint64]Known { return d.known }

// Found records which write of a key survived a power loss: from now on it counts as acknowledged.
func (d *Generator) Found(key, seq uint64) { d.known[key] = Known{Acknowledged: seq, Issued: seq} }

// At converts wall clock time to workload time, which stops while the server is down.
func (d *Generator) At(t time.Time) vtime.Instant {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := vtime.Instant(0)
	for i := range d.spans {
		s := &d.spans[i]
		// Round(0) strips the monotonic reading: t may come from another process.
		since := t.Round(0).Sub(s.wall.Round(0))
		if since < 0 && i > 0 {
			break
		}
		at = min(s.at.Add(since), s.end)
	}
	return at
}

// Totals returns the counters so far.
func (d *Generator) Totals() Totals {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.count
	t := Totals{
		Asked: c.askedAll, Done: c.finished, Refused: c.refusedAll, Failed: c.failed,
		Waiting: max(c.askedAll-c.finished-c.refusedAll-c.failed, 0),
		Reads:   c.reads, Writes: c.writes, P99: units.Duration(c.all.Percentile(99)),
	}

	if n := len(d.spans); n > 0 {
		s := &d.spans[n-1]
		t.At = min(s.at+d.clock.Now()-s.clock, s.end)
	}

	// Each maximum covers one interval between two calls.
	c.reads.Max, c.writes.Max = 0, 0
	return t
}

// Result returns the outcome of the Runs so far. If more than one operation in a hundred failed, it
// returns the first error as well.
func (d *Generator) Result() (*Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.count
	r := &Result{
		Operations: c.operations, Asked: c.asked, Refused: c.refused, Failed: c.failed, Errors: c.errors,
		Forgotten: c.forgotten,
		LateP50:   units.Duration(c.lateness.Percentile(50)), LateP99: units.Duration(c.lateness.Percentile(99)),
		LateMax: units.Duration(c.lateness.Max()), Behind: behind(&c.lateness, &c.all),
	}
	r.Pauses = d.pauses.apply(r.Operations, d.cfg.From)
	if c.failing() {
		return r, c.failure()
	}
	return r, nil
}
