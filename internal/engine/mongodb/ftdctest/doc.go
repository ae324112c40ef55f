// Package ftdctest makes captures for tests. It writes MongoDB's diagnostic.data as a server does,
// so that a reader's output can be compared with the input.
//
// [NewEncoder] takes samples as documents, value by value, for tests of exactness and of single
// metrics. A [Server] simulates a busy mongod, with as many metrics and as much change as a real
// one, for tests of speed and size. Both follow the server's rules for metrics and for the ends of
// chunks; neither shares code with the reader.
package ftdctest

import (
	"fmt"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A Field is one key of a document with its value: of a type that the driver marshals, or a Doc.
type Field = bson.E

// A Doc is a document. Keys keep their order and may repeat.
type Doc bson.D

// An Array is an array; its keys are "0", "1", and so on.
type Array = bson.A

// A Date is a time in milliseconds since the Unix epoch.
type Date = bson.DateTime

// A Timestamp is BSON's own: seconds and an increment. It makes two metrics.
type Timestamp = bson.Timestamp

// Marshal writes a document as BSON. It panics on values that the driver cannot marshal.
func (d Doc) Marshal() []byte {
	b, err := bson.Marshal(d)
	if err != nil {
		panic(err)
	}
	return b
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
		case bson.Decimal128:
			_, low := typed.GetBytes()
			values, kind = append(values, int64(low)), "number"
		case bool:
			n := int64(0)
			if typed {
				n = 1
			}
			values, kind = append(values, n), "bool"
		case Date:
			values, kind = append(values, int64(typed)), "date"
		case Timestamp:
			values, kind = append(values, int64(typed.T), int64(typed.I)), "timestamp"
		case Array:
			var elements Doc
			for i, v := range typed {
				elements = append(elements, Field{Key: fmt.Sprint(i), Value: v})
			}
			inner, s := elements.Metrics()
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
