package workload

import (
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// buckets fills documents with readings. The sensors take turns, always in the same order, like
// devices that report at a fixed interval. So the documents of a span are in the order in which
// they are pushed to.
type buckets struct {
	Buckets
	next    uint64 // sensor
	begun   uint64 // sensors that have a document
	sensors []bucket
}

// A bucket is a sensor's newest document.
type bucket struct {
	key     uint64
	span    uint32 // which span of time it is for
	entries uint32 // 0: there is none yet
}

// newBuckets makes the sensors of a checked specification. Documents that are already filled are
// the last of the existing ones.
func newBuckets(b *Buckets, k *keys) *buckets {
	out := &buckets{Buckets: *b, sensors: make([]bucket, b.Sensors)}
	entries := uint32(b.FilledFor % b.Span / b.Interval)
	if entries == 0 {
		return out
	}
	// Every sensor has taken its turn already, so each has an open bucket.
	out.begun = uint64(b.Sensors)
	for i := range out.sensors {
		out.sensors[i] = bucket{
			key: k.count - uint64(b.Sensors) + uint64(i), span: out.spanOf(0), entries: entries,
		}
	}
	return out
}

func (b *buckets) spanOf(at vtime.Instant) uint32 {
	return uint32((at + vtime.Instant(b.FilledFor)) / vtime.Instant(b.Span))
}

// reading fills in the operation of the next sensor's reading at op.At.
func (b *buckets) reading(op *Op, k *keys) {
	s := &b.sensors[b.next]
	if b.next++; b.next == uint64(len(b.sensors)) {
		b.next = 0
	}

	span := b.spanOf(op.At)
	op.Kind = Push
	if s.entries == 0 {
		b.begun++
	}

	// A reading outside the bucket's span starts a new document.
	if s.entries == 0 || s.span != span {
		*s = bucket{key: k.insert(), span: span}
		op.Kind = Insert
	}

	s.entries++
	op.Key, op.Size = s.key, b.Entry
	op.Document = b.size(s.entries)

	// An insert writes the whole document, a push only its entry.
	if op.Kind == Insert {
		op.Size = op.Document
	}
}

func (b *buckets) size(entries uint32) units.Size { return b.Base + b.Entry*units.Size(entries) }

// full returns a closed bucket's size.
func (b *Buckets) full() units.Size {
	return b.Base + b.Entry*units.Size(max(1, b.Span/b.Interval))
}

// read fills in a read: of a sensor's newest document with the probability that the key distribution gives to
// those, otherwise of a closed one, which is assumed to be full.
func (b *buckets) read(op *Op, k *keys, s *random.Stream) {
	op.Kind, op.Key = Read, k.draw()
	op.Document = b.full()
	sensors := uint64(len(b.sensors))
	if b.begun > 0 && op.Key+sensors >= k.count+k.inserted {
		// Sensors take turns, so those that have begun are the ones before the next.
		newest := &b.sensors[(b.next+sensors-1-s.Below(b.begun))%sensors]
		op.Key, op.Document = newest.key, b.size(newest.entries)
	}
	op.Size = op.Document
}
