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
func column[T int64 | float64](in *deltas, first int64, out []T) error {
	value := uint64(first)
	out[0] = T(first)
	buf, pos := in.buf, in.pos
	filled := 1

	// Finish the run that an earlier metric began.
	if in.zeros > 0 {
		n := min(in.zeros, uint64(len(out)-1))
		in.zeros -= n
		filled += fill(out[1:1+n], T(first))
	}

	for filled < len(out) {
		lead := buf[pos]
		if lead-1 < 0x7f { // 1 ... 127: most deltas that are not zero
			pos++
			value += uint64(lead)
			out[filled] = T(int64(value))
			filled++
			continue
		}

		// Two-byte deltas are the next most frequent, so they avoid the general path too. pos may
		// already be past the end here: the padding makes the load safe, and the check follows
		// below.
		if b2 := buf[pos+1]; lead >= 0x80 && b2 < 0x80 {
			pos += 2
			value += uint64(lead&0x7f) | uint64(b2)<<7
			out[filled] = T(int64(value))
			filled++
			continue
		}

		if pos >= in.end {
			return errDeltasEnd
		}

		if lead == 0 {
			more, size := uint64(buf[pos+1]), 1
			if more >= 0x80 {
				if more, size = uvarint(buf[pos+1:]); size <= 0 {
					return errDeltaLength
				}
			}

			if pos += 1 + size; pos > in.end {
				return errDeltasEnd
			}

			left := uint64(len(out) - filled)
			if more >= left { // the run covers the rest of the column and more
				in.zeros = more - left + 1
				fill(out[filled:], T(int64(value)))
				break
			}

			filled += fill(out[filled:filled+int(more)+1], T(int64(value)))
			continue
		}

		delta, size := longVarint(buf[pos:])
		if pos += size; size <= 0 {
			return errDeltaLength
		} else if pos > in.end {
			return errDeltasEnd
		}

		value += delta
		out[filled] = T(int64(value))
		filled++
	}

	if pos > in.end {
		return errDeltasEnd
	}

	in.pos = pos
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

// skip skips count deltas of one or several consecutive metrics, because runs cross the boundaries
// between metrics.
func (d *deltas) skip(count uint64) error {
	if d.zeros >= count {
		d.zeros -= count
		return nil
	}

	count -= d.zeros
	d.zeros = 0
	buf, pos := d.buf, d.pos

	mid := false // pos is inside a delta
	for count > 0 {
		if pos >= d.end {
			return errDeltasEnd
		}

		w := binary.LittleEndian.Uint64(buf[pos:])
		ends := ^w & highBits // the bytes that end a delta

		// Marks zero bytes, exactly up to the first one; only nonzero deltas come before it.
		zero := (w - lowBits) & ends
		if zero != 0 {
			ends &= zero&-zero - 1
		}

		// Enough deltas end in these eight bytes: drop the lower end marks to find the count-th.
		if k := uint64(bits.OnesCount64(ends)); k >= count {
			for ; count > 1; count-- {
				ends &= ends - 1
			}
			pos += bits.TrailingZeros64(ends)/8 + 1
			break
		} else if count -= k; zero == 0 {
			pos += 8
			mid = w>>63 != 0
			continue
		}

		if k := bits.TrailingZeros64(zero) / 8; k > 0 {
			pos += k
			mid = buf[pos-1] >= 0x80
		}

		if pos >= d.end {
			return errDeltasEnd
		}

		if mid { // a redundant last byte, which no server writes
			pos++
			count--
			mid = false
			continue
		}

		more, size := uint64(buf[pos+1]), 1
		if more >= 0x80 {
			if more, size = uvarint(buf[pos+1:]); size <= 0 {
				return errDeltaLength
			}
		}

		// A run that is longer than requested continues in the next metrics.
		pos += 1 + size
		if more >= count {
			d.zeros = more - count + 1
			break
		}

		count -= more + 1
	}

	if pos > d.end {
		return errDeltasEnd
	}

	d.pos = pos
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
