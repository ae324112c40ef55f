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

func appendField(out []byte, key string, value any) []byte {
	head := func(kind byte) { out = append(append(append(out, kind), key...), 0) }
	le := binary.LittleEndian
	switch typed := value.(type) {
	case float64:
		head(0x01)
		out = le.AppendUint64(out, math.Float64bits(typed))
	case string:
		head(0x02)
		out = append(append(le.AppendUint32(out, uint32(len(typed)+1)), typed...), 0)
	case Doc:
		head(0x03)
		out = typed.append(out)
	case Array:
		head(0x04)
		out = typed.doc().append(out)
	case []byte:
		head(0x05)
		out = append(append(le.AppendUint32(out, uint32(len(typed))), 0), typed...)
	case bool:
		head(0x08)
		out = append(out, 0)
		if typed {
			out[len(out)-1] = 1
		}
	case Date:
		head(0x09)
		out = le.AppendUint64(out, uint64(typed))
	case nil:
		head(0x0A)
	case int32:
		head(0x10)
		out = le.AppendUint32(out, uint32(typed))
	case Timestamp:
		head(0x11)
		out = le.AppendUint32(le.AppendUint32(out, typed.Increment), typed.Seconds)
	case int64:
		head(0x12)
		out = le.AppendUint64(out, uint64(typed))
	case Decimal:
		head(0x13)
		out = le.AppendUint64(le.AppendUint64(out, typed.Low), typed.High)
	default:
		panic(fmt.Sprintf("ftdctest: field %q of type %T", key, value))
	}

	return out
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
		switch typed := field.Value.(type) {
		case float64:
			n := int64(math.MinInt64) // x86-64's conversion of values out of range
			if typed >= math.MinInt64 && typed < math.MaxInt64 {
				n = int64(typed)
			}
			values, kind = append(values, n), "number"
		case int32:
			values, kind = append(values, int64(typed)), "number"
		case int64:
			// mongod converts decimals to integers too; the tests only use values that fit.
			values, kind = append(values, typed), "number"
		case Decimal:
			values, kind = append(values, int64(typed.Low)), "number"
		case bool:
			n := int64(0)
			if typed {
				n = 1
			}
			values, kind = append(values, n), "bool"
		case Date:
			values, kind = append(values, int64(typed)), "date"
		case Timestamp:
			values, kind = append(values, int64(typed.Seconds), int64(typed.Increment)), "timestamp"
		case Array:
			inner, s := typed.doc().Metrics()
			values, kind = append(values, inner...), "("+s+")"
		case Doc:
			inner, s := typed.Metrics()
			values, kind = append(values, inner...), "("+s+")"
		// Other types, such as strings, are not metrics.
		default:
			continue
		}

		schema += fmt.Sprintf("%q:%s,", field.Key, kind)
	}
	return values, schema
}
