package model

import (
	"math/bits"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/kernel"
)

// A page is a leaf: of a collection, an index or the oplog.
type page struct {
	image   int32  // bytes of what it holds, as it would be written
	updates int32  // bytes of changes in memory that are not on the image
	block   int32  // its place in the file, in allocation units; -1: never written
	length  uint16 // of that block, in allocation units
	epoch   uint16 // the checkpoint before which the block was allocated
	passed  uint16 // when it was last read or written, in seconds: the page cache has it since
	state   uint8
}

// The states of a page, as bits.
const (
	cached    = 1 << iota
	dirty     // changed since it was written
	touched   // used since eviction last examined it
	queued    // in the queue of dirty pages
	replacing // a change replaced a version that is to be kept
)

func (p *page) memory() int64 { return int64(p.image) + int64(p.updates) }

// unit is the allocation unit of a file (allocation_size, 4 KB).
const unit = 4 * units.KiB

// A tree is a file with its leaves in the order of keys.
type tree struct {
	file    *kernel.File
	pages   []page
	perPage uint64 // of two leaves together, if the second has fewer
	second  uint64 // how many that has; 0: all leaves are alike
	// The leaf that a key was asked for last, and the first key on it: the next is often the same,
	// and a division costs more.
	lastLeaf int
	lastKey  uint64
	lastSize uint64
	// changed has a bit for each page that was dirtied since a checkpoint passed it: most pages of
	// a collection were not, and a checkpoint would spend its time examining each of them.
	changed []uint64
	hand    int // where the search for clean pages continues

	// A block that the last checkpoint refers to is freed when the next one is complete. One that was
	// written since is freed immediately, and so it is soon written again.
	free     blocks
	deferred []freed // that the last checkpoint refers to
	before   []freed // that the one before it refers to, while it is not complete
	end      int32   // of the file, in units

	unsynced units.Size // written since it was last handed to the volume
}

type freed struct {
	block  int32
	length uint16
}

// key returns the leaf that contains a key, a new one if the key is behind all.
func (t *tree) key(key uint64) int {
	if key-t.lastKey < t.lastSize {
		return t.lastLeaf
	}
	leaf := key / t.perPage
	t.lastLeaf, t.lastKey, t.lastSize = int(leaf), leaf*t.perPage, t.perPage
	if t.second > 0 {
		t.lastLeaf *= 2
		t.lastSize -= t.second
		if key-t.lastKey >= t.lastSize {
			t.lastLeaf++
			t.lastKey, t.lastSize = t.lastKey+t.lastSize, t.second
		}
	}
	return t.lastLeaf
}

// halve gives every second leaf half as many entries as the first: that is how a server's pages
// had been split that were not compressed (two requests of 28 KiB for each of 16 KiB, where
// documents had 4 KiB).
func (t *tree) halve() {
	t.second = t.perPage / 2
	t.perPage += t.second
}

// leaves returns how many leaves a number of entries takes.
func (t *tree) leaves(entries uint64) int {
	if entries == 0 {
		return 0
	}
	return t.key(entries-1) + 1
}

// on returns how many entries a leaf has that is full.
func (t *tree) on(i int) uint64 {
	switch {
	case t.second == 0:
		return t.perPage
	case i%2 == 0:
		return t.perPage - t.second
	}
	return t.second
}

// grow makes leaves up to the i-th, empty and in the cache.
func (t *tree) grow(i int) {
	for len(t.pages) <= i && len(t.pages) < pagesMax {
		t.pages = append(t.pages, page{block: -1, state: cached | touched})
	}
}

// mark notes that a page was dirtied.
func (t *tree) mark(i int) {
	for len(t.changed) <= i/64 {
		t.changed = append(t.changed, 0)
	}
	t.changed[i/64] |= 1 << (i % 64)
}

// unmark unmarks and returns the first marked page from the i-th on; -1 if there is none.
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

// place returns a block with a number of units.
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

// checkpointed frees what only the checkpoint before referred to.
func (t *tree) checkpointed() {
	for _, b := range t.before {
		t.release(b)
	}
	t.before = t.before[:0]
}

// write puts a page's image at a new place, into the kernel's page cache, and gives its bytes.
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
