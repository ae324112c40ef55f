package recording

import (
	"encoding/binary"
	"math"
)

// segmentMax is the maximum number of samples in a segment. It bounds the buffer that an iterator
// decodes into (4 KiB of values) and lets Seek skip whole segments; an FTDC chunk (300 samples)
// fits into one.
const segmentMax = 512

// A run is the times of one or more segments. All columns of a batch share it, so a segment with a
// constant value costs next to nothing.
type run struct{ times []int64 }

func (r *run) first() int64 { return r.times[0] }
func (r *run) last() int64  { return r.times[len(r.times)-1] }

// width is the storage format of the values of a segment.
type width uint8

const (
	constant width = iota // a single value, in base, without data
	bits8                 // base + unsigned offset, scaled
	bits16
	bits32
	raw // IEEE 754 doubles
)

// bytes returns the size of one value.
func (w width) bytes() int { return [...]int{0, 1, 2, 4, 8}[w] }

// A scale is how a value was computed from an integer count. Sources count milliseconds or
// microseconds while metrics are in seconds, so most non-integer values are scaled integers.
type scale uint8

const (
	unscaled scale = iota
	div1e3
	div1e6
	mul1e3 // times 0.001, which can give another double than division by 1000
	mul1e6
	scales
)

func (s scale) apply(v float64) float64 {
	switch s {
	case div1e3:
		return v / 1e3
	case div1e6:
		return v / 1e6
	case mul1e3:
		return v * 1e-3
	case mul1e6:
		return v * 1e-6
	}
	return v
}

// integer returns the integer that apply may convert back to v.
func (s scale) integer(v float64) float64 {
	switch s {
	case div1e3, mul1e3:
		return math.RoundToEven(v * 1e3)
	case div1e6, mul1e6:
		return math.RoundToEven(v * 1e6)
	}
	return v
}

// exactInteger is the magnitude below which every integer is a double.
const exactInteger = 1 << 53

// A segment is a run of samples of one series, immutable once created. The encoding is lossless to
// the bit: integers (scaled or not) are stored as unsigned offsets from the smallest one in 1, 2 or
// 4 bytes, everything else as doubles. It uses frame-of-reference offsets instead of a bit stream,
// so that decoding is a loop over an array.
type segment struct {
	run *run
	// base is the constant value, or the integer that the offsets are relative to.
	base    float64
	data    []byte
	width   width
	scale   scale
	missing bool // some samples are absent, stored as the largest offset, or NaN in raw
}

// segmentBytes is the memory of a segment without its data and its run.
const segmentBytes = 56

// newSegment encodes values, at least one of which is not NaN, at the times of r. A single value
// for several times is a constant.
func newSegment(r *run, values []float64) segment {
	if len(values) == 1 {
		return segment{run: r, base: values[0]}
	}

	same, missing := survey(values)
	if same && !missing {
		return segment{run: r, base: values[0]}
	}

	seg := segment{run: r, missing: missing}

	// The first scale that restores all values decides. A wide span is stored raw in any scale.
	for s := unscaled; s < scales; s++ {
		if low, high, ok := s.span(values); ok {
			if w := narrowest(high - low); w != raw {
				seg.base, seg.width, seg.scale = low, w, s
				seg.data = offsets(values, low, w, s)
				return seg
			}
			break
		}
	}

	seg.width = raw
	seg.data = make([]byte, 8*len(values))

	for i, v := range values {
		binary.LittleEndian.PutUint64(seg.data[8*i:], math.Float64bits(v))
	}

	return seg
}

// survey reports whether all values are identical to the bit, and whether some are missing.
func survey(values []float64) (same, missing bool) {
	same = true
	first := math.Float64bits(values[0])
	for _, v := range values {
		if math.Float64bits(v) != first {
			same = false
		}
		if v != v {
			missing = true
		}
	}
	return same, missing
}

// span returns the smallest and the largest integer behind values, if s restores all of them to the
// bit.
func (s scale) span(values []float64) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v != v {
			continue
		}

		n := s.integer(v)
		if !(n > -exactInteger && n < exactInteger) || n != math.Trunc(n) {
			return 0, 0, false
		}

		// Decoding computes low + (n - low), which turns a negative zero into zero.
		if math.Float64bits(s.apply(n+0)) != math.Float64bits(v) {
			return 0, 0, false
		}

		low, high = min(low, n), max(high, n)
	}

	return low + 0, high, true
}

// narrowest returns the width whose offsets cover span and leave the largest offset free for
// "missing".
func narrowest(span float64) width {
	switch {
	case span < math.MaxUint8:
		return bits8
	case span < math.MaxUint16:
		return bits16
	case span < math.MaxUint32:
		return bits32
	}
	return raw
}

func offsets(values []float64, low float64, w width, s scale) []byte {
	data := make([]byte, w.bytes()*len(values))
	for i, v := range values {
		off := uint32(math.MaxUint32)
		if v == v {
			off = uint32(s.integer(v) - low)
		}

		switch w {
		case bits8:
			data[i] = uint8(off)
		case bits16:
			binary.LittleEndian.PutUint16(data[2*i:], uint16(off))
		case bits32:
			binary.LittleEndian.PutUint32(data[4*i:], off)
		}
	}

	return data
}

// decode appends the values of the segment to dst, NaN for missing ones.
func (g *segment) decode(dst []float64) []float64 {
	n := len(g.run.times)
	switch g.width {
	case constant:
		for range n {
			dst = append(dst, g.base)
		}
	case bits8:
		for _, off := range g.data {
			dst = append(dst, g.base+float64(off))
		}
	case bits16:
		for i := 0; i+2 <= len(g.data); i += 2 {
			dst = append(dst, g.base+float64(binary.LittleEndian.Uint16(g.data[i:])))
		}
	case bits32:
		for i := 0; i+4 <= len(g.data); i += 4 {
			dst = append(dst, g.base+float64(binary.LittleEndian.Uint32(g.data[i:])))
		}
	case raw:
		for i := 0; i+8 <= len(g.data); i += 8 {
			dst = append(dst, math.Float64frombits(binary.LittleEndian.Uint64(g.data[i:])))
		}
		return dst
	}

	tail := dst[len(dst)-n:]
	if g.missing {
		g.blank(tail)
	}

	if g.scale != unscaled {
		for i, v := range tail {
			tail[i] = g.scale.apply(v)
		}
	}

	return dst
}

// blank writes NaN for offsets that mean missing.
func (g *segment) blank(values []float64) {
	// decode has added the base already, so the marker is compared with it included.
	largest := g.base + [...]float64{bits8: math.MaxUint8, bits16: math.MaxUint16,
		bits32: math.MaxUint32}[g.width]
	for i, v := range values {
		if v == largest {
			values[i] = math.NaN()
		}
	}
}
