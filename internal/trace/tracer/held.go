//go:build linux

package tracer

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"
)

// A held keeps records undecoded while no call lasts long. On a volume on which a sync takes
// milliseconds, nearly all concurrent events could explain the sync if it became slow, but hardly
// any sync does.
type held struct {
	all     bool          // every record is wanted
	slow    time.Duration // faster calls are only counted
	decided int64         // when release last decided what is wanted
	records []byte        // in time order, each preceded by its length
	marks   []mark        // positions in records at each call of release
}

// A mark says how many bytes of records had arrived by a time.
type mark struct {
	at  int64
	end int
}

const (
	// heldMost bounds the held bytes, and heldCalm the memory retained for them.
	heldMost = 32 << 20
	heldCalm = 8 << 20
	// wantedFor is how long all records are wanted after a call lasted: requests that were in
	// flight alongside it complete in that time.
	wantedFor = time.Second
	// heldBefore is how long a record is held beyond half the threshold for slow calls.
	heldBefore = time.Second

	lengthBytes = 4
)

// add stores a record. It returns true for records that are always wanted: slow calls and file
// names, which the programs report only occasionally.
func (h *held) add(record []byte) (wanted bool) {
	kind := kindOf(record)
	if h.all || kind == eventCall || kind == eventFile {
		return true
	}
	h.records = binary.LittleEndian.AppendUint32(h.records, uint32(len(record)))
	h.records = append(h.records, record...)
	return false
}

// release passes on the wanted records, given when a call last lasted long: either all held
// records, or, of those too old to explain any call in progress, the requests that had their disk
// to themselves. Those show how fast the idle disk is.
func (h *held) release(now, lasted int64, to func(record []byte)) {
	h.marks = append(h.marks, mark{now, len(h.records)})
	wanted := lasted != 0 && lasted > h.decided-wantedFor.Nanoseconds() || len(h.records) > heldMost
	h.decided = now

	// No call in progress has reached half the threshold, so all of them began after this time.
	before := now - h.slow.Nanoseconds()/2 - heldBefore.Nanoseconds()
	n := len(h.marks)
	if !wanted {
		n, _ = slices.BinarySearchFunc(h.marks, before, func(m mark, t int64) int { return cmp.Compare(m.at, t) })
	}

	if n == 0 {
		return
	}

	end := h.marks[n-1].end
	for at := 0; at < end; {
		from := at + lengthBytes
		at = from + int(binary.LittleEndian.Uint32(h.records[at:]))
		if r := h.records[from:at]; wanted || hadItsDisk(r) {
			to(r)
		}
	}

	h.records, h.marks = slices.Delete(h.records, 0, end), slices.Delete(h.marks, 0, n)
	for i := range h.marks {
		h.marks[i].end -= end
	}

	// After a burst, copy the rest into a smaller buffer and let Go free the large one.
	if cap(h.records) > heldCalm && len(h.records) < heldCalm/2 {
		h.records = slices.Clone(h.records)
	}
}
