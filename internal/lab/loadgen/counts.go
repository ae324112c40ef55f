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

// A Result is what came of a run so far.
type Result struct {
	// Operations are those acknowledged before the end, in about the order of their
	// acknowledgement.
	Operations []latency.Operation
	// Asked and Refused are operations that were to begin in the measured time; refused are those
	// of them for which too many were waiting already.
	Asked, Refused int64
	Failed         int64            // with an error
	Errors         map[string]int64 // by text; there is a bound on how many are told apart
	// How late operations began for which a connection was free, in an open loop's measured time
	// and warm-up.
	LateP50, LateP99, LateMax units.Duration
	// Behind says that the load generator could not keep up: its lateness is a part of the
	// latencies that counts. That is where its median is over 100 us and a tenth of theirs, or its
	// p99 over 1 ms and a tenth of theirs.
	Behind bool
	// Pauses are those of this machine. Operations that they account for are marked.
	Pauses Pauses
	// Forgotten counts keys beyond those that can be remembered.
	Forgotten int64
}

// What a load generator may be late by without its being told, beside a tenth of the latencies.
// Volumes that one rents take 500 us and more for a write, and a virtual machine's timers and cores
// come this late now and then.
const (
	lateP50 = 100 * time.Microsecond
	lateP99 = time.Millisecond
)

// behind holds lateness against the latencies it is a part of.
func behind(late, all *latency.Distribution) bool {
	over := func(percentile float64, free time.Duration) bool {
		return late.Percentile(percentile) > int64(free)+all.Percentile(percentile)/10
	}
	return over(50, lateP50) || over(99, lateP99)
}

// Known is what is known of a key's writes.
type Known struct{ Acknowledged, Issued uint64 } // Seq; 0: none

// Totals are the counters of a run, warm-up included, as an exporter at its clients would tell
// them.
type Totals struct {
	At                           vtime.Instant // the workload's time
	Asked, Done, Refused, Failed int64
	Waiting                      int64 // asked, and not answered, failed or refused
	Reads, Writes                KindTotals
	// P99 is that of all operations in the measured time so far; 0: there are none.
	P99 units.Duration
}

// KindTotals are those of one kind of operation.
type KindTotals struct {
	Done int64
	Took units.Duration // summed over operations
	// Max is the longest since the last call of Totals.
	Max units.Duration
	// Felt is how long they took, counted in a recording's buckets.
	Felt latency.Buckets
}

// counts are what a Generator counts, under its lock.
type counts struct {
	operations                       []latency.Operation
	askedAll, refusedAll             int64
	asked, refused, finished, failed int64 // the first two of the measured time
	errors                           map[string]int64
	first                            error // that was returned
	reads, writes                    KindTotals
	all                              latency.Distribution // of the measured time
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

// failing tells whether more operations failed than may.
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

// late counts by how much an operation began after it could have.
func (d *Generator) late(by vtime.Instant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count.lateness.Add(int64(by))
}

// issued remembers that a write is about to be made.
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

// Known gives what is known of each key that was written; of Config.Remember, and between two Runs.
func (d *Generator) Known() map[uint64]Known { return d.known }

// Found says which write of a key is there after a loss of power: from now on this one counts as
// acknowledged.
func (d *Generator) Found(key, seq uint64) { d.known[key] = Known{Acknowledged: seq, Issued: seq} }

// At is the workload's time at a time of the day: while the server was down it stood still.
func (d *Generator) At(t time.Time) vtime.Instant {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := vtime.Instant(0)
	for i := range d.spans {
		s := &d.spans[i]
		since := t.Round(0).Sub(s.wall.Round(0)) // by the wall's clock: t may come from another process
		if since < 0 && i > 0 {
			break
		}
		at = min(s.at.Add(since), s.end)
	}
	return at
}

// Totals tells how far the run has come.
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
	c.reads.Max, c.writes.Max = 0, 0
	return t
}

// Result tells what came of the Runs so far. It fails where more than one operation in a hundred
// did, with the first error.
func (d *Generator) Result() (*Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.count
	r := &Result{
		Operations: c.operations, Asked: c.asked, Refused: c.refused, Failed: c.failed, Errors: c.errors, Forgotten: c.forgotten,
		LateP50: units.Duration(c.lateness.Percentile(50)), LateP99: units.Duration(c.lateness.Percentile(99)),
		LateMax: units.Duration(c.lateness.Max()), Behind: behind(&c.lateness, &c.all),
	}
	r.Pauses = d.pauses.apply(r.Operations, d.cfg.From)
	if c.failing() {
		return r, c.failure()
	}
	return r, nil
}
