package ftdc

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// deltaPad is how many zero bytes must follow the deltas in memory. The loops load eight bytes at a
// time, look two bytes ahead, and check bounds only at a zero or a long delta.
const deltaPad = 16

var (
	errDeltasEnd   = errors.New("deltas end before all samples of all metrics")
	errDeltaLength = errors.New("a delta of over 10 bytes")
)

// deltas reads the differences of a chunk, metric by metric. Each is an unsigned 64-bit difference
// modulo 2^64 in LEB128 (7 bits per byte, lowest first, high bit set if more follow). A zero is
// followed by the number of further zeros. Such a run may continue into the next metrics, so the
// count outlives a column.
type deltas struct {
	buf   []byte // followed by deltaPad zero bytes
	end   int    // end of the deltas, without the padding
	pos   int
	zeros uint64 // zeros left in the current run
}

func newDeltas(padded []byte, from int) deltas {
	return deltas{buf: padded, end: len(padded) - deltaPad, pos: from}
}

// constant consumes the n deltas of a column if one run makes all of them zero, and reports whether
// it did.
func (d *deltas) constant(n int) bool {
	if d.zeros == 0 && n > 0 && d.pos < d.end && d.buf[d.pos] == 0 {
		p := d.pos + 1
		more, size := uvarint(d.buf[p:])
		// Not this function's error to report: column and skip report damage with its metric.
		if size <= 0 || p+size > d.end {
			return false
		}
		if more+1 == 0 { // 2^64 zeros: more than any chunk needs
			more--
		}
		d.pos, d.zeros = p+size, more+1
	}

	if d.zeros >= uint64(n) {
		d.zeros -= uint64(n)
		return true
	}

	return false
}

// column decodes the deltas of one metric into out, whose first sample is first.
func column[T int64 | float64](d *deltas, first int64, out []T) error {
	v := uint64(first)
	out[0] = T(first)
	buf, p := d.buf, d.pos
	j := 1

	// Finish the run that an earlier metric began.
	if d.zeros > 0 {
		n := min(d.zeros, uint64(len(out)-1))
		d.zeros -= n
		j += fill(out[1:1+n], T(first))
	}

	for j < len(out) {
		b := buf[p]
		if b-1 < 0x7f { // 1 ... 127: most deltas that are not zero
			p++
			v += uint64(b)
			out[j] = T(int64(v))
			j++
			continue
		}

		// Two-byte deltas are the next most frequent, so they avoid the general path too. p may
		// already be past the end here: the padding makes the load safe, and the check follows
		// below.
		if b2 := buf[p+1]; b >= 0x80 && b2 < 0x80 {
			p += 2
			v += uint64(b&0x7f) | uint64(b2)<<7
			out[j] = T(int64(v))
			j++
			continue
		}

		if p >= d.end {
			return errDeltasEnd
		}

		if b == 0 {
			more, size := uint64(buf[p+1]), 1
			if more >= 0x80 {
				if more, size = uvarint(buf[p+1:]); size <= 0 {
					return errDeltaLength
				}
			}

			if p += 1 + size; p > d.end {
				return errDeltasEnd
			}

			left := uint64(len(out) - j)
			if more >= left { // the run covers the rest of the column and more
				d.zeros = more - left + 1
				fill(out[j:], T(int64(v)))
				break
			}

			j += fill(out[j:j+int(more)+1], T(int64(v)))
			continue
		}

		delta, size := longVarint(buf[p:])
		if p += size; size <= 0 {
			return errDeltaLength
		} else if p > d.end {
			return errDeltasEnd
		}

		v += delta
		out[j] = T(int64(v))
		j++
	}

	if p > d.end {
		return errDeltasEnd
	}

	d.pos = p
	return nil
}

func fill[T int64 | float64](out []T, v T) int {
	for i := range out {
		out[i] = v
	}
	return len(out)
}

// Bit masks for eight bytes at a time.
const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// skip skips n deltas of one or several consecutive metrics, because runs cross the boundaries
// between metrics.
func (d *deltas) skip(n uint64) error {
	if d.zeros >= n {
		d.zeros -= n
		return nil
	}

	n -= d.zeros
	d.zeros = 0
	buf, p := d.buf, d.pos

	mid := false // p is inside a delta
	for n > 0 {
		if p >= d.end {
			return errDeltasEnd
		}

		w := binary.LittleEndian.Uint64(buf[p:])
		ends := ^w & highBits // the bytes that end a delta

		// Marks zero bytes, exactly up to the first one; only nonzero deltas come before it.
		zero := (w - lowBits) & ends
		if zero != 0 {
			ends &= zero&-zero - 1
		}

		// Enough deltas end in these eight bytes: drop the lower end marks to find the n-th.
		if k := uint64(bits.OnesCount64(ends)); k >= n {
			for ; n > 1; n-- {
				ends &= ends - 1
			}
			p += bits.TrailingZeros64(ends)/8 + 1
			break
		} else if n -= k; zero == 0 {
			p += 8
			mid = w>>63 != 0
			continue
		}

		if k := bits.TrailingZeros64(zero) / 8; k > 0 {
			p += k
			mid = buf[p-1] >= 0x80
		}

		if p >= d.end {
			return errDeltasEnd
		}

		if mid { // a redundant last byte, which no server writes
			p++
			n--
			mid = false
			continue
		}

		more, size := uint64(buf[p+1]), 1
		if more >= 0x80 {
			if more, size = uvarint(buf[p+1:]); size <= 0 {
				return errDeltaLength
			}
		}

		// A run that is longer than requested continues in the next metrics.
		p += 1 + size
		if more >= n {
			d.zeros = more - n + 1
			break
		}

		n -= more + 1
	}

	if p > d.end {
		return errDeltasEnd
	}

	d.pos = p
	return nil
}

// longVarint reads a delta of two or more bytes. b has at least ten bytes. Size 0 means over 10
// bytes.
func longVarint(b []byte) (v uint64, size int) {
	b = b[:10]
	w := binary.LittleEndian.Uint64(b)
	if stop := ^w & highBits; stop != 0 {
		// Keep the bytes up to the one that ends the delta.
		return gather(w & (stop ^ (stop - 1))), bits.TrailingZeros64(stop)/8 + 1
	}
	v = gather(w) | uint64(b[8]&0x7f)<<56
	switch {
	case b[8] < 0x80:
		return v, 9
	case b[9] < 0x80: // every decrease, since it is slightly below 2^64
		return v | uint64(b[9])<<63, 10
	}
	return 0, 0
}

// gather closes the gaps left by the high bits of eight bytes: groups of 7 bits become groups of
// 14, of 28, of 56.
func gather(w uint64) uint64 {
	w &^= highBits
	w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
	w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
	return w&0x000000000fffffff | w&0x0fffffff00000000>>4
}

// uvarint reads a LEB128 number; size 0 means over 10 bytes. Unlike binary.Uvarint, it reduces an
// overflow modulo 2^64, as the server does.
func uvarint(b []byte) (v uint64, size int) {
	for i, c := range b[:min(len(b), 10)] {
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
