package simulate

import (
	"math"
	"reflect"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/workload"
)

// tapeMax is the most operations that a tape holds: 100 MB, an hour at a thousand a second. Beyond
// that each run draws its own.
const tapeMax = 1 << 22

// A tape holds the operations that an open loop asks for. They are drawn once for all runs with one
// workload, seed and length, because drawing them takes a twentieth of a run.
type tape struct {
	spec   workload.Spec
	seed   random.Seed
	from   vtime.Instant // of the measured time
	end    vtime.Instant
	chunks [][]taped
	n      int
	last   vtime.Instant
	over   bool // more operations than a tape may hold: the tape is empty
}

// A taped operation starts this many nanoseconds after the one before it.
type taped struct {
	key                 uint64
	gap, size, document uint32
	kind                workload.Kind
	class               uint8
}

const tapeChunk = 1 << 14

// add takes in the next operation.
func (t *tape) add(op *workload.Op) {
	gap := op.At - t.last
	if t.over || t.n == tapeMax || gap < 0 || gap > math.MaxUint32 ||
		op.Size < 0 || op.Size > math.MaxUint32 || op.Document < 0 || op.Document > math.MaxUint32 {
		t.over, t.chunks = true, nil
		return
	}
	if t.n%tapeChunk == 0 {
		t.chunks = append(t.chunks, make([]taped, 0, tapeChunk))
	}
	c := &t.chunks[len(t.chunks)-1]
	*c = append(*c, taped{op.Key, uint32(gap), uint32(op.Size), uint32(op.Document), op.Kind, op.Class})
	t.last = op.At
	t.n++
}

// of reports whether the tape holds what a workload asks for up to an instant.
func (t *tape) of(load *workload.Workload, seed random.Seed, end vtime.Instant) bool {
	return t != nil && !t.over && t.seed == seed && t.end == end && reflect.DeepEqual(t.spec, load.Spec())
}

// source returns the operations of a run: from the tape if it is the run's own, else newly drawn.
// It is nil for a closed loop.
func (w *Wanted) source(load *workload.Workload, seed random.Seed, end vtime.Instant) workload.Source {
	if w != nil && w.Come.tape.of(load, seed, end) {
		return &player{tape: w.Come.tape}
	}
	return load.Open(seed)
}

// Each yields the key of every arrival in order, including the warm-up's, and whether it is in the
// measured time. It returns false and yields nothing if the operations are not known or were too
// many to keep.
func (a Arrivals) Each(tell func(key uint64, measured bool)) bool {
	if a.tape == nil || a.tape.over {
		return false
	}
	last, p := vtime.Instant(-1), player{tape: a.tape}
	var op workload.Op
	for p.Next(&op) {
		last = max(op.At, last+1) // as the driver has it
		tell(op.Key, last >= a.tape.from)
	}
	return true
}

// A player is a tape as a source.
type player struct {
	tape *tape
	i    int
	at   vtime.Instant
}

// Next gives the next operation.
func (p *player) Next(op *workload.Op) bool {
	if p.i == p.tape.n {
		return false
	}
	t := &p.tape.chunks[p.i/tapeChunk][p.i%tapeChunk]
	p.i++
	p.at += vtime.Instant(t.gap)
	op.At, op.Key, op.Size, op.Document = p.at, t.key, units.Size(t.size), units.Size(t.document)
	op.Kind, op.Class = t.kind, t.class
	return true
}
