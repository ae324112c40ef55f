// Package workload describes which operations clients send to a database, and when.
//
// The one idea to know is the open loop. Users do not wait for each other: a sensor sends its next
// reading whether or not the last one was stored. So an operation carries its intended start
// ([Op.At]), decided before the run and unaffected by the system's speed, and its latency counts
// from there. A load generator that waits for an answer before it sends the next request stops
// sending during a stall, and its percentiles never see the stall (Gil Tene called it coordinated
// omission, 2013). Benchmarks that work this way nevertheless, such as etcdctl's check perf or
// RANREAD with its N processes, are a [Closed] loop here, and reports say so.
//
// A workload is made of independent parts, each with its own random stream: arrivals (when), a mix
// (what), key popularity (which), sizes of documents (how much). Two runs with one seed that differ
// in one part agree in the others, and the same seed gives the same operations on every machine.
//
//	spec := workload.Spec{Preset: "telemetry"}      // or decoded from a scenario's YAML
//	w, problems := spec.Resolve(nil)                // preset and defaults filled in, checked
//	source := w.Open(random.Seed(1))
//	for op := (workload.Op{}); source.Next(&op) && op.At < end; { ... }
//
// Left out: transactions of several operations, correlation of a key with the time of day, and
// clients that give up and retry.
package workload

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A Kind is the kind of an operation.
type Kind uint8

// The kinds. A Push appends an entry to an array within a document, the way buckets of readings are
// filled; for storage it is an update of a document that grows.
const (
	Read Kind = iota
	Insert
	Update
	Push
	Scan  // reads neighbours: Key is the first of them
	Kinds = 5
)

// String returns the kind's name in specifications and reports.
func (k Kind) String() string {
	return [...]string{"read", "insert", "update", "push", "scan"}[k]
}

// Writes reports whether the operation changes anything.
func (k Kind) Writes() bool { return k == Insert || k == Update || k == Push }

// An Op is one operation.
type Op struct {
	// At is the intended start. Latency counts from here, whatever the system does. In a closed
	// loop it is when the client was free to send it.
	At vtime.Instant
	// Key says which document, row or block: 0 ... documents-1 exist when the run begins, and
	// inserts count on from there, so that the newest has the highest key.
	Key uint64
	// Size is the payload: bytes read, or bytes in the statement itself (an update's new document,
	// a push's entry).
	Size units.Size
	// Document is the whole document's size after the operation, or what a scan reads.
	Document units.Size
	Kind     Kind
	Class    uint8 // index into Workload.Classes, for reports
}

// A Source is an open loop: operations in the order of At.
type Source interface {
	// Next writes the next operation into op; false means that there are no more. It allocates
	// nothing.
	Next(op *Op) bool
}
