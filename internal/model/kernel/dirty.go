package kernel

import (
	"math/bits"

	"plimsoll/internal/base/units"
)

// A dirtyMap holds a file's dirty pages: a bitmap in chunks that are created when touched, so that a
// large file uses memory only for the parts that are written.
type dirtyMap struct {
	chunks []*chunk
	pages  int64 // dirty
	low    int64 // no page below it is dirty: a log is dirty only at its end
}

// chunkPages is the number of pages in a chunk: a bitmap of 2 KiB covers 64 MiB.
const (
	chunkPages = 1 << 14
	chunkWords = chunkPages / 64
)

// fileBytesMax bounds a file: beyond it, the index of chunks would exceed 8 MB.
const fileBytesMax = 64 * units.TiB

type chunk struct {
	bits  [chunkWords]uint64
	count int64
}

// set dirties pages first ... last and returns how many were clean.
func (m *dirtyMap) set(first, last int64) (fresh int64) {
	if m.pages == 0 || first < m.low {
		m.low = first
	}

	for page := first; page <= last; {
		k := page / chunkPages
		for int64(len(m.chunks)) <= k {
			m.chunks = append(m.chunks, nil)
		}

		c := m.chunks[k]
		if c == nil {
			c = new(chunk)
			m.chunks[k] = c
		}

		i := page % chunkPages
		n := min(64-i%64, last-page+1)
		mask := (^uint64(0) >> (64 - n)) << (i % 64)
		added := int64(bits.OnesCount64(mask &^ c.bits[i/64]))
		c.bits[i/64] |= mask
		c.count += added
		fresh += added
		page += n
	}

	m.pages += fresh
	return fresh
}

// take finds the first run of dirty pages in [from, to), up to most pages long, marks it clean, and
// returns its start and length; length 0 means that there is none.
func (m *dirtyMap) take(from, to, most int64) (first, length int64) {
	if m.pages == 0 {
		return 0, 0
	}

	// Taking from the lowest dirty page on raises the lower bound, so that syncs of a log, which is
	// dirty only at its end, do not scan it from its start.
	lowest := from <= m.low
	for page := max(from, m.low); page < to; {
		k := page / chunkPages
		if k >= int64(len(m.chunks)) {
			return 0, 0
		}

		c := m.chunks[k]
		if c == nil || c.count == 0 {
			page = (k + 1) * chunkPages
			continue
		}

		i := page % chunkPages
		word := c.bits[i/64] >> (i % 64)
		if word == 0 {
			page += 64 - i%64
			continue
		}

		first = page + int64(bits.TrailingZeros64(word))
		if first >= to {
			return 0, 0
		}

		if length = m.clean(first, min(to, first+most)); lowest {
			m.low = first + length
		}

		return first, length
	}

	return 0, 0
}

// next returns the first dirty page from page on.
func (m *dirtyMap) next(page int64) (first int64, ok bool) {
	for k := page / chunkPages; k < int64(len(m.chunks)); k, page = k+1, (k+1)*chunkPages {
		c := m.chunks[k]
		if c == nil || c.count == 0 {
			continue
		}

		i := page % chunkPages
		word := c.bits[i/64] &^ (1<<(i%64) - 1)
		for w := i / 64; ; word = c.bits[w] {
			if word != 0 {
				return k*chunkPages + w*64 + int64(bits.TrailingZeros64(word)), true
			}
			if w++; w == chunkWords {
				break
			}
		}
	}
	return 0, false
}

// clean cleans the run of dirty pages that starts at first, up to end, and returns its length.
func (m *dirtyMap) clean(first, end int64) (n int64) {
	for page := first; page < end; {
		k := page / chunkPages
		if k >= int64(len(m.chunks)) || m.chunks[k] == nil {
			break
		}

		c, i := m.chunks[k], page%chunkPages
		run := int64(bits.TrailingZeros64(^(c.bits[i/64] >> (i % 64))))
		run = min(run, 64-i%64, end-page)
		if run == 0 {
			break
		}

		c.bits[i/64] &^= (^uint64(0) >> (64 - run)) << (i % 64)
		c.count -= run
		n += run
		page += run

		if i%64+run < 64 {
			break
		}
	}

	m.pages -= n
	return n
}

// run returns how many pages from first on are dirty, up to most.
func (m *dirtyMap) run(first, most int64) (n int64) {
	for n < most {
		k := (first + n) / chunkPages
		if k >= int64(len(m.chunks)) || m.chunks[k] == nil {
			break
		}
		i := (first + n) % chunkPages
		ones := min(int64(bits.TrailingZeros64(^(m.chunks[k].bits[i/64] >> (i % 64)))), 64-i%64)
		if n += ones; i%64+ones < 64 {
			break
		}
	}
	return min(n, most)
}
