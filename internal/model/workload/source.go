package workload

import (
	"math"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// operations draws the requested operations; arrivals decides when they start.
type operations struct {
	mix      *random.Stream
	sizes    *random.Stream
	kinds    []Kind   // by class
	below    []uint64 // by class: the bound of the random number that selects it
	scanMost uint64
	keys     *keys
	document *documents // nil: buckets
	buckets  *buckets
}

func (w *Workload) operations(seed random.Seed) *operations {
	o := &operations{
		mix:   seed.Stream("workload.mix"),
		sizes: seed.Stream("workload.scans"),
		kinds: w.kinds,
		below: make([]uint64, len(w.kinds)),
	}

	shares := w.spec.Mix.shares()
	var sum float64
	for i, k := range o.kinds {
		sum += float64(shares[k])
		o.below[i] = chance(sum)
	}

	o.below[len(o.below)-1] = math.MaxUint64 // shares are 100 % except for rounding
	o.scanMost = uint64(w.spec.Mix.ScanDocuments)
	var err error
	if o.keys, err = newKeys(w.spec.Keys, seed); err != nil {
		panic("a checked workload: " + err.Error()) // Resolve checked the bounds of NewZipf
	}

	if b := w.spec.Buckets; b != nil {
		o.buckets = newBuckets(b, o.keys)
	} else {
		o.document = newDocuments(w.spec.Document, w.spec.Keys.Count, seed)
	}

	return o
}

// fill draws an operation that starts at the given instant.
func (o *operations) fill(op *Op, at vtime.Instant) {
	class := 0

	// A single kind draws no random number.
	if len(o.kinds) > 1 {
		u := o.mix.Uint64()
		for class < len(o.below)-1 && u >= o.below[class] {
			class++
		}
	}

	op.At, op.Class, op.Kind = at, uint8(class), o.kinds[class]
	if o.buckets != nil {
		if op.Kind == Push {
			o.buckets.reading(op, o.keys)
		} else {
			o.buckets.read(op, o.keys, o.sizes)
		}
		return
	}

	if op.Kind == Insert {
		op.Key = o.keys.insert()
	} else {
		op.Key = o.keys.draw()
	}

	switch op.Kind {
	case Update:
		op.Size, op.Document = o.document.update(op.Key)
	case Push:
		_, op.Document = o.document.update(op.Key)
		op.Size = o.document.growth
	case Scan:
		op.Document = o.document.mean() * units.Size(1+o.sizes.Below(o.scanMost))
		op.Size = op.Document
	default:
		op.Document = o.document.now(op.Key)
		op.Size = op.Document
	}
}

type open struct {
	when *arrivals
	what *operations
	end  vtime.Instant
}

func (s *open) Next(op *Op) bool {
	at, ok := s.when.next()
	if !ok || at >= s.end {
		s.when.ended = true
		return false
	}
	s.what.fill(op, at)
	return true
}

// Open returns the operations of an open loop; nil for a closed one. The same seed gives the same
// operations.
func (w *Workload) Open(seed random.Seed) Source {
	if w.IsClosed() {
		return nil
	}
	return &open{when: newArrivals(w.schedule, seed), what: w.operations(seed), end: w.end()}
}

// Closed returns the clients of a closed loop; nil for an open one.
func (w *Workload) Closed(seed random.Seed) *Closed {
	if !w.IsClosed() {
		return nil
	}

	a := w.spec.Arrivals
	c := &Closed{what: w.operations(seed), think: a.Think.Std(), end: w.end()}
	if a.Rate != nil {
		c.distance = time.Duration(math.Round(1e9 / float64(*a.Rate)))
	}

	if a.Clients > 0 {
		c.crowd = []crowd{{vtime.Never, a.Clients}}
	}

	var until vtime.Instant
	for i, s := range a.Steps {
		// The last step's clients stay until the workload ends.
		if until = until.Add(s.For.Std()); i == len(a.Steps)-1 {
			until = vtime.Never
		}
		c.crowd = append(c.crowd, crowd{until, s.Clients})
	}

	for _, s := range c.crowd {
		c.clients = max(c.clients, s.clients)
	}

	// Clients are numbered up to the largest step's count.
	c.begun = make([]bool, c.clients)
	return c
}

// end returns the instant at which the workload stops.
func (w *Workload) end() vtime.Instant {
	if w.spec.Duration > 0 {
		return vtime.At(w.spec.Duration.Std())
	}
	return vtime.Never
}
