package model

// A block's state in the global buffers, as bits.
const (
	resident   uint8 = 1 << iota
	referenced       // used since the clock's hand passed it
	dirty            // changed since the daemon collected it
	taken            // the daemon has yet to write it
)

// buffers are the global buffers: which blocks are in memory, and their states. A clock chooses the
// clean block to evict: the hand passes over blocks that were used since its last visit.
type buffers struct {
	chunks [][]uint8 // a byte per block; a chunk is allocated on its first use
	blocks uint64
	frames []uint32 // the blocks in memory
	room   int      // the maximum number of blocks
	hand   int
	dirty  []uint32 // in the order of their first change
	taken  int
	seen   uint8 // sum of prefetched states, to keep the reads
}

const (
	chunkBlocks = 1 << 24
	// framesFirst is the initial capacity of frames, enough for 32 GiB.
	framesFirst = 1 << 22
)

func (b *buffers) init(blocks uint64, room int) {
	b.blocks, b.room = blocks, room
	b.chunks = make([][]uint8, (blocks+chunkBlocks-1)/chunkBlocks)
	b.frames = make([]uint32, 0, min(room, framesFirst))
}

// state returns a block's state.
func (b *buffers) state(block uint32) *uint8 {
	c := b.chunks[block/chunkBlocks]
	if c == nil {
		c = make([]uint8, min(chunkBlocks, b.blocks-uint64(block/chunkBlocks)*chunkBlocks))
		b.chunks[block/chunkBlocks] = c
	}
	return &c[block%chunkBlocks]
}

// nearBlocks is how many blocks' states are prefetched together.
const nearBlocks = 32

// near prefetches the states of blocks that are needed soon. The processor stalls on such a read
// only if later work depends on it; nothing depends on these, so they overlap.
func (b *buffers) near(blocks []uint32) {
	seen := b.seen
	for _, block := range blocks {
		seen += *b.state(block)
	}
	b.seen = seen
}

// admit adds a block that was read to memory and evicts a clean one; at least one must exist.
func (b *buffers) admit(block uint32) {
	s := b.state(block)
	if *s&resident != 0 {
		*s |= referenced
		return
	}

	*s |= resident | referenced
	if len(b.frames) < b.room {
		b.frames = append(b.frames, block)
		return
	}

	// A clock sweep: a referenced block gets a second turn.
	for {
		// Upcoming states are loaded together, because they are scattered over memory.
		if b.hand%nearBlocks == 0 {
			b.near(b.frames[b.hand:min(b.hand+nearBlocks, len(b.frames))])
		}
		victim := b.state(b.frames[b.hand])
		// Dirty blocks and those that the daemon took are not yet in the database.
		if *victim&(dirty|taken) == 0 {
			if *victim&referenced == 0 {
				break
			}
			*victim &^= referenced
		}
		b.hand = (b.hand + 1) % len(b.frames)
	}

	*b.state(b.frames[b.hand]) &^= resident
	b.frames[b.hand] = block
	b.hand = (b.hand + 1) % len(b.frames)
}

// change marks a resident block as dirty.
func (b *buffers) change(block uint32) {
	s := b.state(block)
	*s |= referenced
	if *s&dirty == 0 {
		*s |= dirty
		b.dirty = append(b.dirty, block)
	}
}

// take hands all dirty blocks to the daemon and keeps the list that it returns.
func (b *buffers) take(empty []uint32) []uint32 {
	list := b.dirty
	for _, block := range list {
		s := b.state(block)
		*s = *s&^dirty | taken
	}
	b.dirty, b.taken = empty[:0], len(list)
	return list
}

// written records that the daemon wrote a block.
func (b *buffers) written(block uint32) {
	*b.state(block) &^= taken
	b.taken--
}

// unclean is the number of buffers that cannot be evicted. A block that was changed again after the
// daemon collected it counts twice.
func (b *buffers) unclean() int { return len(b.dirty) + b.taken }
