// Package ftdctest makes captures for tests. It writes MongoDB's diagnostic.data as a server does,
// so that a reader's output can be compared with the input.
//
// [NewEncoder] takes samples as documents, value by value, for tests of exactness and of single
// metrics. A [Server] simulates a busy mongod, with as many metrics and as much change as a real
// one, for tests of speed and size. Both follow the server's rules for metrics and for the ends of
// chunks; neither shares code with the reader.
package ftdctest

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A Field is one key of a document with its value: a float64, int32, int64, bool, string,
// [Date], [Timestamp], [Decimal], Doc, Array or nil.
type Field struct {
	Key   string
	Value any
}

// A Doc is a document. Keys keep their order and may repeat.
type Doc []Field

// An Array is an array; its keys are "0", "1", and so on.
type Array []any

// A Date is a time in milliseconds since the Unix epoch.
type Date int64

// A Timestamp is BSON's own: seconds and an increment. It makes two metrics.
type Timestamp struct{ Seconds, Increment uint32 }

// A Decimal is a decimal128 in its binary encoding, low and high half.
type Decimal struct{ Low, High uint64 }

// Marshal writes a document as BSON. It panics on values of other types than those above.
func (d Doc) Marshal() []byte { return d.append(nil) }

func (d Doc) append(b []byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	for _, f := range d {
		b = appendField(b, f.Key, f.Value)
	}
	b = append(b, 0)
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at))
	return b
}

func appendField(b []byte, key string, value any) []byte {
	head := func(kind byte) { b = append(append(append(b, kind), key...), 0) }
	le := binary.LittleEndian
	switch v := value.(type) {
	case float64:
		head(0x01)
		b = le.AppendUint64(b, math.Float64bits(v))
	case string:
		head(0x02)
		b = append(append(le.AppendUint32(b, uint32(len(v)+1)), v...), 0)
	case Doc:
		head(0x03)
		b = v.append(b)
	case Array:
		head(0x04)
		b = v.doc().append(b)
	case []byte:
		head(0x05)
		b = append(append(le.AppendUint32(b, uint32(len(v))), 0), v...)
	case bool:
		head(0x08)
		b = append(b, 0)
		if v {
			b[len(b)-1] = 1
		}
	case Date:
		head(0x09)
		b = le.AppendUint64(b, uint64(v))
	case nil:
		head(0x0A)
	case int32:
		head(0x10)
		b = le.AppendUint32(b, uint32(v))
	case Timestamp:
		head(0x11)
		b = le.AppendUint32(le.AppendUint32(b, v.Increment), v.Seconds)
	case int64:
		head(0x12)
		b = le.AppendUint64(b, uint64(v))
	case Decimal:
		head(0x13)
		b = le.AppendUint64(le.AppendUint64(b, v.Low), v.High)
	default:
		panic(fmt.Sprintf("ftdctest: field %q of type %T", key, value))
	}

	return b
}

func (a Array) doc() Doc {
	d := make(Doc, len(a))
	for i, v := range a {
		d[i] = Field{fmt.Sprint(i), v}
	}
	return d
}

// Metrics returns the values that a server turns into metrics, in order, and their schema. Two
// documents belong to one chunk if their schemas are equal. A decimal must be a whole number below
// 2^49.
func (d Doc) Metrics() (values []int64, schema string) {
	for _, field := range d {
		kind := ""
		switch v := field.Value.(type) {
		case float64:
			n := int64(math.MinInt64) // x86-64's conversion of values out of range
			if v >= math.MinInt64 && v < math.MaxInt64 {
				n = int64(v)
			}
			values, kind = append(values, n), "number"
		case int32:
			values, kind = append(values, int64(v)), "number"
		case int64:
			// mongod converts decimals to integers too; the tests only use values that fit.
			values, kind = append(values, v), "number"
		case Decimal:
			values, kind = append(values, int64(v.Low)), "number"
		case bool:
			n := int64(0)
			if v {
				n = 1
			}
			values, kind = append(values, n), "bool"
		case Date:
			values, kind = append(values, int64(v)), "date"
		case Timestamp:
			values, kind = append(values, int64(v.Seconds), int64(v.Increment)), "timestamp"
		case Array:
			inner, s := v.doc().Metrics()
			values, kind = append(values, inner...), "("+s+")"
		case Doc:
			inner, s := v.Metrics()
			values, kind = append(values, inner...), "("+s+")"
		// Other types, such as strings, are not metrics.
		default:
			continue
		}

		schema += fmt.Sprintf("%q:%s,", field.Key, kind)
	}
	return values, schema
}
