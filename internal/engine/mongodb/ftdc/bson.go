package ftdc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
)

// kind is a BSON element type (bsonspec.org, version 1.1).
type kind byte

const (
	kindDouble    kind = 0x01
	kindString    kind = 0x02
	kindDocument  kind = 0x03
	kindArray     kind = 0x04
	kindBinary    kind = 0x05
	kindBool      kind = 0x08
	kindDate      kind = 0x09
	kindInt32     kind = 0x10
	kindTimestamp kind = 0x11
	kindInt64     kind = 0x12
	kindDecimal   kind = 0x13
)

// An element is one field of a document. Its key and value are slices of the document's bytes, with
// validated lengths.
type element struct {
	kind  kind
	key   []byte
	value []byte
	at    int // offset of value in the bytes the walk began with
}

var errShort = errors.New("ends before its stated length")

// documentLen returns the length that a document states, if b has that many bytes.
func documentLen(b []byte) (int, error) {
	if len(b) < 5 {
		return 0, errShort
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < 5 {
		return 0, fmt.Errorf("document of stated length %d; the least is 5", n)
	}
	if n > len(b) {
		return 0, errShort
	}
	if b[n-1] != 0 {
		return 0, errors.New("document without its closing zero byte")
	}
	return n, nil
}

// fields yields the fields of a document up to the first damaged one. It is for documents that have
// only a few relevant fields.
func fields(doc []byte) iter.Seq[element] {
	return func(yield func(element) bool) {
		n, err := documentLen(doc)
		if err != nil {
			return
		}
		for pos := 4; pos < n-1; {
			e, next, err := nextElement(doc, pos, n-1)
			if err != nil || !yield(e) {
				return
			}
			pos = next
		}
	}
}

// lookup finds the field at a path of keys, if it exists.
func lookup(doc []byte, path ...string) (element, bool) {
	for e := range fields(doc) {
		if string(e.key) != path[0] {
			continue
		}
		if len(path) == 1 {
			return e, true
		}
		if e.kind != kindDocument && e.kind != kindArray {
			return element{}, false
		}
		return lookup(e.value, path[1:]...)
	}
	return element{}, false
}

// nextElement reads the element at b[pos], which must end by b[end].
func nextElement(b []byte, pos, end int) (e element, next int, err error) {
	e.kind = kind(b[pos])
	n := bytes.IndexByte(b[pos+1:end], 0)
	if n < 0 {
		return e, 0, fmt.Errorf("offset %d: field name without its closing zero byte", pos)
	}
	e.key = b[pos+1 : pos+1+n]
	pos += n + 2
	size, err := valueLen(e.kind, b[pos:end])
	if err != nil {
		return e, 0, fmt.Errorf("offset %d: field %q: %w", pos, clip(e.key), err)
	}
	e.value, e.at = b[pos:pos+size], pos
	return e, pos + size, nil
}

// clip shortens a field name for error texts, because it is untrusted.
func clip(key []byte) []byte { return key[:min(len(key), 80)] }

// valueLen returns the length of a BSON value that starts at doc[0]. of is its type.
func valueLen(of kind, doc []byte) (int, error) {
	size := 0
	switch of {
	case kindDouble, kindDate, kindTimestamp, kindInt64:
		size = 8
	case kindBool:
		size = 1
	case kindInt32:
		size = 4
	case kindDecimal:
		size = 16
	case kindDocument, kindArray:
		return documentLen(doc)
	case 0x06, 0x0A, 0xFF, 0x7F: // undefined, null, min key, max key
	case 0x07: // object id
		size = 12
	// Types of variable length start with their length in 4 bytes.
	case kindString, 0x0D, 0x0E, 0x0C, kindBinary, 0x0F:
		if len(doc) < 4 {
			return 0, errShort
		}

		n := int64(int32(binary.LittleEndian.Uint32(doc)))
		switch of {
		case kindBinary:
			n += 5 // length, subtype
		case 0x0F: // the length of code with scope includes itself
		case 0x0C: // pointer: a string, then an object id
			n += 4 + 12
		default:
			n += 4
		}

		// The shortest is an empty string: a length and a zero byte.
		if n < 5 || n > int64(len(doc)) {
			return 0, errShort
		}

		return int(n), nil
	case 0x0B: // regular expression: two C strings
		for range 2 {
			n := bytes.IndexByte(doc[size:], 0)
			if n < 0 {
				return 0, errShort
			}
			size += n + 1
		}
	default:
		return 0, fmt.Errorf("unknown BSON type 0x%02x", byte(of))
	}

	if size > len(doc) {
		return 0, errShort
	}

	return size, nil
}

// text returns a string element's value, "" for other kinds.
func (e element) text() string {
	if e.kind != kindString || len(e.value) < 5 {
		return ""
	}
	return string(e.value[4 : len(e.value)-1])
}

// integer returns the value as the server converts it to a metric (see [metricValue]).
func (e element) integer() int64 { return metricValue(e.kind, e.value) }

// metricValue returns the int64 that the server stores in FTDC for a value. The server uses the
// plain conversion BSONElement::numberLong, not the clamping one.
//
// A double is truncated. If it is not a number or does not fit, it becomes the least int64, which
// is the result of x86-64's conversion. (A server on ARM saturates; its deltas then start from
// another value, which differs by a constant.) A decimal128 is rounded to even. A timestamp is two
// metrics; this one is its seconds.
func metricValue(k kind, v []byte) int64 {
	switch k {
	case kindDouble:
		return truncate(math.Float64frombits(binary.LittleEndian.Uint64(v)))
	case kindDate, kindInt64:
		return int64(binary.LittleEndian.Uint64(v))
	case kindInt32:
		return int64(int32(binary.LittleEndian.Uint32(v)))
	case kindBool:
		if v[0] != 0 {
			return 1
		}
	case kindTimestamp:
		return int64(binary.LittleEndian.Uint32(v[4:]))
	case kindDecimal:
		return decimalInteger(v)
	}

	return 0
}

func truncate(f float64) int64 {
	// -2^63 and 2^63 are exact; NaN fails both comparisons.
	if f >= -(1<<63) && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

// decimalInteger rounds an IEEE 754-2008 decimal128 in its binary encoding (BID) to the nearest
// integer, ties to even. A value that does not fit becomes the least int64, the "invalid" result of
// the conversion.
func decimalInteger(v []byte) int64 {
	lo, hi := binary.LittleEndian.Uint64(v), binary.LittleEndian.Uint64(v[8:])
	if hi>>61&3 == 3 {
		// Infinity, NaN, or a coefficient over 34 digits, which counts as zero.
		if hi>>59&15 == 15 {
			return math.MinInt64
		}
		return 0
	}

	exp := int(hi>>49&0x3fff) - 6176 // the bias of decimal128
	coefficient := new(big.Int).SetUint64(hi & (1<<49 - 1))
	coefficient.Lsh(coefficient, 64).Or(coefficient, new(big.Int).SetUint64(lo))

	switch {
	case coefficient.Sign() == 0 || coefficient.Cmp(pow10(34)) >= 0 || exp < -36:
		return 0 // over 34 digits counts as zero; below 10^-2 rounds to it
	case exp > 18:
		return math.MinInt64
	case exp > 0:
		coefficient.Mul(coefficient, pow10(exp))
	case exp < 0:
		div := pow10(-exp)
		q, r := new(big.Int).QuoRem(coefficient, div, new(big.Int))
		switch half := r.Lsh(r, 1).Cmp(div); {
		case half > 0, half == 0 && q.Bit(0) == 1:
			q.Add(q, big.NewInt(1))
		}
		coefficient = q
	}

	if hi>>63 != 0 {
		coefficient.Neg(coefficient)
	}

	if !coefficient.IsInt64() {
		return math.MinInt64
	}

	return coefficient.Int64()
}

func pow10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
