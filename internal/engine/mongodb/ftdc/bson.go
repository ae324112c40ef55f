package ftdc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// An element is one field of a document. Its key and value are slices of the document's bytes, with
// validated lengths.
type element struct {
	kind  bson.Type
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
		if e.kind != bson.TypeEmbeddedDocument && e.kind != bson.TypeArray {
			return element{}, false
		}
		return lookup(e.value, path[1:]...)
	}
	return element{}, false
}

// nextElement reads the element at b[pos], which must end by b[end].
func nextElement(b []byte, pos, end int) (e element, next int, err error) {
	e.kind = bson.Type(b[pos])
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
func valueLen(of bson.Type, doc []byte) (int, error) {
	size := 0
	switch of {
	case bson.TypeDouble, bson.TypeDateTime, bson.TypeTimestamp, bson.TypeInt64:
		size = 8
	case bson.TypeBoolean:
		size = 1
	case bson.TypeInt32:
		size = 4
	case bson.TypeDecimal128:
		size = 16
	case bson.TypeEmbeddedDocument, bson.TypeArray:
		return documentLen(doc)
	case bson.TypeUndefined, bson.TypeNull, bson.TypeMinKey, bson.TypeMaxKey:
	case bson.TypeObjectID:
		size = 12
	// Types of variable length start with their length in 4 bytes.
	case bson.TypeString, bson.TypeJavaScript, bson.TypeSymbol, bson.TypeDBPointer, bson.TypeBinary,
		bson.TypeCodeWithScope:
		if len(doc) < 4 {
			return 0, errShort
		}

		n := int64(int32(binary.LittleEndian.Uint32(doc)))
		switch of {
		case bson.TypeBinary:
			n += 5 // length, subtype
		case bson.TypeCodeWithScope: // its length includes itself
		case bson.TypeDBPointer: // a string, then an object id
			n += 4 + 12
		default:
			n += 4
		}

		// The shortest is an empty string: a length and a zero byte.
		if n < 5 || n > int64(len(doc)) {
			return 0, errShort
		}

		return int(n), nil
	case bson.TypeRegex: // two C strings
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
	if e.kind != bson.TypeString || len(e.value) < 5 {
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
func metricValue(k bson.Type, v []byte) int64 {
	switch k {
	case bson.TypeDouble:
		return truncate(math.Float64frombits(binary.LittleEndian.Uint64(v)))
	case bson.TypeDateTime, bson.TypeInt64:
		return int64(binary.LittleEndian.Uint64(v))
	case bson.TypeInt32:
		return int64(int32(binary.LittleEndian.Uint32(v)))
	case bson.TypeBoolean:
		if v[0] != 0 {
			return 1
		}
	case bson.TypeTimestamp:
		return int64(binary.LittleEndian.Uint32(v[4:]))
	case bson.TypeDecimal128:
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
	d := bson.NewDecimal128(binary.LittleEndian.Uint64(v[8:]), binary.LittleEndian.Uint64(v))
	coefficient, exp, err := d.BigInt()
	if err != nil { // infinity or NaN
		return math.MinInt64
	}

	switch {
	case coefficient.Sign() == 0 || coefficient.CmpAbs(pow10(34)) >= 0 || exp < -36:
		return 0 // over 34 digits counts as zero; below 10^-2 rounds to it
	case exp > 18:
		return math.MinInt64
	case exp > 0:
		coefficient.Mul(coefficient, pow10(exp))
	case exp < 0:
		div := pow10(-exp)
		q, r := new(big.Int).QuoRem(coefficient, div, new(big.Int))
		sign := int64(coefficient.Sign())
		if half := r.Lsh(r, 1).CmpAbs(div); half > 0 || half == 0 && q.Bit(0) == 1 {
			q.Add(q, big.NewInt(sign))
		}
		coefficient = q
	}

	if !coefficient.IsInt64() {
		return math.MinInt64
	}

	return coefficient.Int64()
}

func pow10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
