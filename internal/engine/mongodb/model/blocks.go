package model

import (
	"math/bits"
	"slices"
)

// blocks are the free blocks of a file, as WiredTiger's block manager keeps them
// (src/block/block_ext.c). Neighbours form one extent. A write takes the beginning of the shortest
// extent that fits, and of equal ones the first in the file. So pages that are written in
// succession often lie next to each other, and the kernel writes them with one request.
type blocks struct {
	length map[int32]int32 // of the free extent that begins at the key, in units
	begin  map[int32]int32 // of the free extent that ends at the key
	// starts holds the beginnings of extents by length, each list a heap; the last list is for all
	// longer ones. Extents that no longer exist stay in their heap until they come to its top.
	starts [][]int32
	live   []int32  // number of extents of each length
	some   []uint64 // a bit for each length that exists
}

// lengthsMax is the number of distinct lengths: up to 16 MiB.
const lengthsMax = 1 << 12

func class(length int32) int { return int(min(length, lengthsMax-1)) }

// take allocates a number of units. It returns false if no free extent is large enough.
func (b *blocks) take(units int32) (at int32, ok bool) {
	k := b.shortest(class(units))
	if k < 0 {
		return 0, false
	}
	at = b.first(k)
	length := b.length[at]
	if length < units { // the last list mixes lengths; only its first extent is tried
		return 0, false
	}
	b.remove(at, length)
	if length > units {
		b.insert(at+units, length-units)
	}
	return at, true
}

// give frees a block and merges it with its neighbours.
func (b *blocks) give(at, units int32) {
	if b.length == nil {
		b.length, b.begin = map[int32]int32{}, map[int32]int32{}
		b.starts, b.live = make([][]int32, lengthsMax), make([]int32, lengthsMax)
		b.some = make([]uint64, lengthsMax/64)
	}

	if left, ok := b.begin[at]; ok {
		n := b.length[left]
		b.remove(left, n)
		at, units = left, units+n
	}

	if n, ok := b.length[at+units]; ok {
		b.remove(at+units, n)
		units += n
	}

	b.insert(at, units)
}

// shortest returns the first length from k on that has extents, or -1.
func (b *blocks) shortest(k int) int {
	for w := k / 64; w < len(b.some); w++ {
		left := b.some[w]
		if w == k/64 {
			left &= ^uint64(0) << (k % 64)
		}
		if left != 0 {
			return 64*w + bits.TrailingZeros64(left)
		}
	}
	return -1
}

// first returns the first extent of a length that has at least one.
func (b *blocks) first(k int) int32 {
	h := &b.starts[k]
	for {
		at := (*h)[0]
		if n, ok := b.length[at]; ok && class(n) == k {
			return at
		}
		b.pop(h)
	}
}

func (b *blocks) insert(at, length int32) {
	b.length[at], b.begin[at+length] = length, at
	k := class(length)
	if b.live[k]++; b.live[k] == 1 {
		b.some[k/64] |= 1 << (k % 64)
		b.starts[k] = b.starts[k][:0]
	}

	// Dead entries are removed once they outnumber the living ones, so that the heap stays small.
	h := &b.starts[k]
	if len(*h) > 64 && len(*h) > 4*int(b.live[k]) {
		b.tidy(h, k)
	}

	*h = append(*h, at)
	for i := len(*h) - 1; i > 0; {
		up := (i - 1) / 2
		if (*h)[up] <= (*h)[i] {
			break
		}
		(*h)[up], (*h)[i] = (*h)[i], (*h)[up]
		i = up
	}
}

// tidy drops dead entries from a heap. A sorted list is a valid heap.
func (b *blocks) tidy(h *[]int32, k int) {
	*h = slices.DeleteFunc(*h, func(at int32) bool {
		n, ok := b.length[at]
		return !ok || class(n) != k
	})
	slices.Sort(*h)
	*h = slices.Compact(*h)
}

func (b *blocks) remove(at, length int32) {
	delete(b.length, at)
	delete(b.begin, at+length)
	k := class(length)
	if b.live[k]--; b.live[k] == 0 {
		b.some[k/64] &^= 1 << (k % 64)
	}
}

// pop removes the top of a heap.
func (b *blocks) pop(h *[]int32) {
	last := len(*h) - 1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]

	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if (*h)[c] < (*h)[least] {
				least = c
			}
		}
		if least == i {
			return
		}
		(*h)[least], (*h)[i] = (*h)[i], (*h)[least]
		i = least
	}
}
