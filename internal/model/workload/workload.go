// Package workload says who asks a database for what, and when.
//
// The one idea to know is the open loop. Users do not wait for each other: a sensor sends its
// next reading whether or not the last one was stored. So an operation carries the instant at which
// it was meant to start ([Op.At]), decided before the run and untouched by how the system does, and
// its latency counts from there. A load generator that waits for an answer before it asks again
// stops asking during a stall, and its percentiles never hear of it (Gil Tene called it coordinated
// omission, 2013). Benchmarks that are made so nevertheless, etcdctl's check perf or RANREAD with its N
// processes, are a [Closed] loop here, and reports say so.
//
// A workload is made of parts that know nothing of each other, each with a stream of chance of its
// own: arrivals (when), a mix (what), key popularity (which), sizes of documents (how much).
// Two runs of one seed that differ in one part agree in the others, and the same seed
// gives the same operations on every machine.
//
//	spec := workload.Spec{Preset: "telemetry"}      // or decoded from a scenario's YAML
//	w, problems := spec.Resolve(nil)                // preset and defaults filled in, checked
//	source := w.Open(random.Seed(1))
//	for op := (workload.Op{}); source.Next(&op) && op.At < end; { ... }
//
// Left out: transactions of several operations, correlation of a key with the time of day, and
// clients that give up and try again.
package workload

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A Kind is what an operation asks for.
type Kind uint8

// The kinds. A Push appends an entry to an array within a document, as buckets of
// readings are filled; to storage it is an update of a document that grows.
const (
	Read Kind = iota
	Insert
	Update
	Push
	Scan  // reads neighbours: Key is the first of them
	Kinds = 5
)

// String is the kind's name in specifications and reports.
func (k Kind) String() string {
	return [...]string{"read", "insert", "update", "push", "scan"}[k]
}

// Writes tells whether the operation changes anything.
func (k Kind) Writes() bool { return k == Insert || k == Update || k == Push }

// An Op is one operation.
type Op struct {
	// At is the intended start. Latency counts from here, whatever the system does. In a
	// closed loop it is when the client was free to send it.
	At vtime.Instant
	// Key tells which document, row or block: 0 ... documents-1 are there when the run begins, and
	// inserts count on from there, so that the newest has the highest key.
	Key uint64
	// Size is the payload: bytes read, or bytes that the statement itself carries (an
	// update's new document, a push's entry).
	Size units.Size
	// Document is the whole document's size after the operation, or what a scan reads.
	Document units.Size
	Kind     Kind
	Class    uint8 // index into Workload.Classes, for reports
}

// A Source is an open loop: operations in the order of At.
type Source interface {
	// Next writes the next operation into op; false says that there is none any more. It
	// allocates nothing.
	Next(op *Op) bool
}
