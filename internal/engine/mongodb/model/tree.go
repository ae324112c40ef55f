package model

import (
	"math/bits"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/kernel"
)

// A page is a leaf of a collection, an index or the oplog.
type page struct {
	image   int32  // bytes of its content, as it would be written
	updates int32  // bytes of updates in memory that are not in the image
	block   int32  // position in the file, in allocation units; -1: never written
	length  uint16 // of that block, in allocation units
	epoch   uint16 // the checkpoint before which the block was allocated
	passed  uint16 // when it last passed through the page cache, in seconds
	state   uint8
}

// The states of a page, as bits.
const (
	cached    = 1 << iota
	dirty     // changed since it was written
	touched   // used since eviction last examined it
	queued    // in the queue of dirty pages
	replacing // an update replaced a version that is kept
)

func (p *page) memory() int64 { return int64(p.image) + int64(p.updates) }

// unit is the allocation unit of a file (allocation_size, 4 KB).
const unit = 4 * units.KiB

// A tree is a file with its leaves in key order.
type tree struct {
	file    *kernel.File
	pages   leaves
	perPage uint64 // entries per leaf, or of two leaves together if second > 0
	second  uint64 // entries of every second leaf; 0: all leaves are alike
	// changed has a bit for each page that was dirtied since a checkpoint passed it. Most pages of
	// a collection are clean, and a checkpoint should not spend its time examining them.
	changed []uint64
	hand    int // where the search for clean pages continues

	// A block that the last checkpoint refers to is freed when the next checkpoint completes. A
	// block that was written since is freed immediately, so it is soon reused.
	free     blocks
	deferred []freed // referred to by the last checkpoint
	before   []freed // referred to by the checkpoint that is being replaced
	end      int32   // end of the file, in units

	unsynced units.Size // written since it was last handed to the volume
}

type freed struct {
	block  int32
	length uint16
}

// key returns the leaf that contains a key; for a key after all others, a new one.
func (t *tree) key(key uint64) int {
	leaf := int(key / t.perPage)
	if t.second == 0 {
		return leaf
	}
	if key%t.perPage < t.perPage-t.second {
		return 2 * leaf
	}
	return 2*leaf + 1
}

// halve gives every second leaf half as many entries. This is how a server's uncompressed pages
// were split (two requests of 28 KiB for each of 16 KiB, with documents of 4 KiB).
func (t *tree) halve() {
	t.second = t.perPage / 2
	t.perPage += t.second
}

// leaves returns how many leaves the given number of entries takes.
func (t *tree) leaves(entries uint64) int {
	if entries == 0 {
		return 0
	}
	return t.key(entries-1) + 1
}

// on returns the number of entries on a full leaf.
func (t *tree) on(i int) uint64 {
	switch {
	case t.second == 0:
		return t.perPage
	case i%2 == 0:
		return t.perPage - t.second
	}
	return t.second
}

// grow adds leaves up to the i-th, empty and in the cache.
func (t *tree) grow(i int) {
	for t.pages.count <= i && t.pages.count < pagesMax {
		t.pages.add(page{block: -1, state: cached | touched})
	}
}

// mark notes that a page was dirtied.
func (t *tree) mark(i int) {
	for len(t.changed) <= i/64 {
		t.changed = append(t.changed, 0)
	}
	t.changed[i/64] |= 1 << (i % 64)
}

// unmark clears and returns the first marked page from the i-th on, or -1.
func (t *tree) unmark(i int) int {
	for w := i / 64; w < len(t.changed); w++ {
		left := t.changed[w]
		if w == i/64 {
			left &= ^uint64(0) << (i % 64)
		}
		if left != 0 {
			bit := bits.TrailingZeros64(left)
			t.changed[w] &^= 1 << bit
			return 64*w + bit
		}
	}
	return -1
}

// place returns a block with the given number of units.
func (t *tree) place(length uint16) int32 {
	if at, ok := t.free.take(int32(length)); ok {
		return at
	}
	b := t.end
	t.end += int32(length)
	return b
}

func (t *tree) release(b freed) { t.free.give(b.block, int32(b.length)) }

// taken notes that a checkpoint has written all its pages.
func (t *tree) taken() {
	t.before = append(t.before, t.deferred...)
	t.deferred = t.deferred[:0]
}

// checkpointed frees the blocks that only the previous checkpoint referred to.
func (t *tree) checkpointed() {
	for _, b := range t.before {
		t.release(b)
	}
	t.before = t.before[:0]
}

// write puts a page's image at a new place in the kernel's page cache, and returns its size.
func (t *tree) write(p *page, epoch uint16, compression units.Ratio) (n units.Size) {
	bytes := units.Size(float64(p.image) * float64(compression))
	length := uint16(min(max((bytes+unit-1)/unit, 1), 1<<16-1))
	if p.block >= 0 {
		b := freed{p.block, p.length}
		if p.epoch == epoch {
			t.release(b)
		} else {
			t.deferred = append(t.deferred, b)
		}
	}

	p.block, p.length, p.epoch = t.place(length), length, epoch
	n = units.Size(length) * unit
	t.file.Write(units.Size(p.block)*unit, n)
	t.unsynced += n

	return n
}
