//go:build linux

package server

import (
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
)

// Sizes in BSON (bsonspec.org): a document has 4 bytes of length and a final zero. An element has a
// type, its zero-terminated name, and its value: 8 bytes for an integer; for binary data 4 bytes of
// length, one of subtype, and the data.
const (
	fixedBytes  = 5 + (1 + len("_id") + 1 + 8) + (1 + len("seq") + 1 + 8)
	fillerBytes = 1 + len("filler") + 1 + 5
	changeBytes = 1 + len("change") + 1 + 5
	// entryBytes is for an element of an array with hundreds of elements, whose name is its index.
	entryBytes = 1 + 4 + 1 + 5
)

// poolBytes is the size of the pool that fillers are cut from. It is larger than a page, so that
// compression finds no repetition.
const poolBytes = 4 << 20

// A maker makes documents of the sizes that a workload requests. It is safe for concurrent use.
type maker struct {
	pool   []byte
	share  units.Ratio // of a filler, the share that does not compress
	change units.Size  // of the field that updates set; 0: they set the filler
}

func newMaker(share units.Ratio, change units.Size) *maker {
	m := &maker{pool: make([]byte, 0, poolBytes+8), share: share, change: change}
	for x := uint64(1); len(m.pool) < poolBytes; x++ {
		m.pool = binary.LittleEndian.AppendUint64(m.pool, random.Mix64(x))
	}
	return m
}

// bytes returns n bytes that differ for each write of each key. The given share of them does not
// compress.
func (m *maker) bytes(n int, key, seq uint64) bson.Binary {
	n = max(n, 0)
	varied := int(float64(n) * float64(m.share))
	at := int(random.Mix64(random.Mix64(key)+seq) % poolBytes)
	// The common case needs no copy: the bytes are a window of the pool.
	if varied == n && at+n <= len(m.pool) {
		return bson.Binary{Data: m.pool[at : at+n]}
	}
	out := make([]byte, n)
	for done := 0; done < varied; {
		done += copy(out[done:varied], m.pool[at:])
		at = int(random.Mix64(uint64(at)) % poolBytes)
	}
	return bson.Binary{Data: out}
}

// document returns a document of a given size, for an insert.
func (m *maker) document(key, seq uint64, size units.Size) bson.D {
	d := bson.D{{Key: "_id", Value: int64(key)}, {Key: "seq", Value: int64(seq)}}
	left := int(size) - fixedBytes - fillerBytes
	if m.change > 0 {
		own := min(int(m.change), max(left-changeBytes, 0))
		d = append(d, bson.E{Key: "change", Value: m.bytes(own, key, ^seq)})
		left -= own + changeBytes
	}
	return append(d, bson.E{Key: "filler", Value: m.bytes(left, key, seq)})
}

// update returns the changes that an update or push makes to a document.
func (m *maker) update(op *lab.Op) bson.D {
	set := bson.D{{Key: "seq", Value: int64(op.Seq)}}
	size := max(op.Document, op.Size)
	switch {
	case op.Kind == workload.Push:
		entry := m.bytes(int(op.Size)-entryBytes, op.Key, op.Seq)
		return bson.D{{Key: "$set", Value: set}, {Key: "$push", Value: bson.D{{Key: "entries", Value: entry}}}}
	case m.change > 0 && op.Size < size:
		set = append(set, bson.E{Key: "change", Value: m.bytes(int(op.Size), op.Key, op.Seq)})
	default:
		set = append(set, bson.E{Key: "filler", Value: m.bytes(int(size)-fixedBytes-fillerBytes, op.Key, op.Seq)})
	}
	return bson.D{{Key: "$set", Value: set}}
}
