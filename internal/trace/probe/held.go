//go:build linux

package probe

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"
)

// A held keeps records as they came while no call lasts for long. On a volume where a sync takes
// milliseconds nearly all that happens beside it would explain it if it became slow, and hardly any
// sync does.
type held struct {
	all     bool          // every record is wanted
	slow    time.Duration // a call that takes less is counted only
	looked  int64         // when it was decided last what is wanted
	records []byte        // in the order of time, each behind its length
	looks   []look        // at which they came
}

// A look is where what had come until a time ends in the records.
type look struct {
	at  int64
	end int
}

const (
	// heldMost bounds what is held, and heldCalm the memory that is kept for it.
	heldMost = 32 << 20
	heldCalm = 8 << 20
	// wantedFor is how long after a call that lasted all is wanted: what was under way beside it ends.
	wantedFor = time.Second
	// heldBefore is how long a record is held beyond half of what makes a call slow.
	heldBefore = time.Second

	lengthBytes = 4
)

// add takes a record. It reports whether that is wanted whatever comes: slow calls, and the names
// of files, which the programs tell only now and then.
func (h *held) add(record []byte) (wanted bool) {
	kind := kindOf(record)
	if h.all || kind == eventCall || kind == eventFile {
		return true
	}
	h.records = binary.LittleEndian.AppendUint32(h.records, uint32(len(record)))
	h.records = append(h.records, record...)
	return false
}

// release hands over what is wanted, by when a call lasted last: all that is held, or of what ended
// before any call that is under way began the requests that had their disk for themselves. They
// tell how long it takes.
func (h *held) release(now, lasted int64, to func(record []byte)) {
	h.looks = append(h.looks, look{now, len(h.records)})
	wanted := lasted != 0 && lasted > h.looked-wantedFor.Nanoseconds() || len(h.records) > heldMost
	h.looked = now

	// No call under way has lasted for half of what makes it slow: it has begun since.
	before := now - h.slow.Nanoseconds()/2 - heldBefore.Nanoseconds()
	n := len(h.looks)
	if !wanted {
		n, _ = slices.BinarySearchFunc(h.looks, before, func(l look, t int64) int { return cmp.Compare(l.at, t) })
	}

	if n == 0 {
		return
	}

	end := h.looks[n-1].end
	for at := 0; at < end; {
		from := at + lengthBytes
		at = from + int(binary.LittleEndian.Uint32(h.records[at:]))
		if r := h.records[from:at]; wanted || hadItsDisk(r) {
			to(r)
		}
	}

	h.records, h.looks = slices.Delete(h.records, 0, end), slices.Delete(h.looks, 0, n)
	for i := range h.looks {
		h.looks[i].end -= end
	}

	if cap(h.records) > heldCalm && len(h.records) < heldCalm/2 {
		h.records = slices.Clone(h.records)
	}
}
