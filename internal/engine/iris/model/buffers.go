package model

// A block's state in the global buffers.
const (
	resident   uint8 = 1 << iota
	referenced       // since the clock's hand passed
	dirty            // changed since the daemon took it
	taken            // the daemon has still to write it
)

// buffers are the global buffers: which blocks are in memory, and in what state. Which clean one
// gives way to another is decided by a clock: the hand passes over those used since it came by.
type buffers struct {
	chunks [][]uint8 // a byte a block, made when the first in a chunk is touched
	blocks uint64
	frames []uint32 // the blocks in memory
	room   int      // how many there may be
	hand   int
	dirty  []uint32 // in the order of their first change
	taken  int
	seen   uint8 // of what was read only to have it near
}

const (
	chunkBlocks = 1 << 24
	// framesFirst is how many frames there is room for at first: those of 32 GiB.
	framesFirst = 1 << 22
)

func (b *buffers) init(blocks uint64, room int) {
	b.blocks, b.room = blocks, room
	b.chunks = make([][]uint8, (blocks+chunkBlocks-1)/chunkBlocks)
	b.frames = make([]uint32, 0, min(room, framesFirst))
}

// state is a block's.
func (b *buffers) state(block uint32) *uint8 {
	c := b.chunks[block/chunkBlocks]
	if c == nil {
		c = make([]uint8, min(chunkBlocks, b.blocks-uint64(block/chunkBlocks)*chunkBlocks))
		b.chunks[block/chunkBlocks] = c
	}
	return &c[block%chunkBlocks]
}

// nearBlocks is how many blocks' states are read at once, ahead of their use.
const nearBlocks = 32

// near reads the states of blocks that are needed soon. The processor waits for such a read if what
// follows depends on it; nothing depends on these, so it does them at the same time.
func (b *buffers) near(blocks []uint32) {
	seen := b.seen
	for _, block := range blocks {
		seen += *b.state(block)
	}
	b.seen = seen
}

// admit takes a block that was read into memory. Some clean one goes, which there must be.
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

	for {
		if b.hand%nearBlocks == 0 {
			b.near(b.frames[b.hand:min(b.hand+nearBlocks, len(b.frames))])
		}
		victim := b.state(b.frames[b.hand])
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

// take hands all dirty blocks to the daemon, and keeps the list it gives back.
func (b *buffers) take(empty []uint32) []uint32 {
	list := b.dirty
	for _, block := range list {
		s := b.state(block)
		*s = *s&^dirty | taken
	}
	b.dirty, b.taken = empty[:0], len(list)
	return list
}

// written says that the daemon wrote a block.
func (b *buffers) written(block uint32) {
	*b.state(block) &^= taken
	b.taken--
}

// unclean is how many buffers cannot give way, some of them counted twice: changed again after they
// were taken.
func (b *buffers) unclean() int { return len(b.dirty) + b.taken }
