package parquet

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A Column is a column of the rows: Times, Doubles, Texts or Maps.
type Column interface {
	rows() int
	schema() []format.SchemaElement
	leaves() []*leaf
	empty()
}

// A leaf is the storage of the values of a column; a map has two.
type leaf struct {
	path     []string
	kind     format.Type
	encoding format.Encoding

	values     func() int
	dictionary func() (words int, body []byte) // nil if there is none
	page       func() ([]byte, error)
	bounds     func() (least, most []byte) // nil if they are not stored
}

// element returns the leaf's element in the schema.
func (l *leaf) element() format.SchemaElement {
	return format.SchemaElement{
		Name: l.path[len(l.path)-1], Type: thrift.New(l.kind), RepetitionType: thrift.New(format.Required),
	}
}

// Times are milliseconds since 1970, UTC. Evenly spaced times take little room.
type Times struct {
	ms   []int64
	leaf *leaf
}

// NewTimes returns a column of times.
func NewTimes(name string) *Times {
	t := &Times{}
	t.leaf = &leaf{
		path: []string{name}, kind: format.Int64, encoding: format.DeltaBinaryPacked,
		values: t.rows,
		page:   func() ([]byte, error) { return new(delta.BinaryPackedEncoding).EncodeInt64(nil, t.ms) },
		bounds: func() (least, most []byte) {
			return bounds(t.ms, func(v int64) []byte { return plain.AppendInt64(nil, v) })
		},
	}
	return t
}

// Add appends the time of a row.
func (t *Times) Add(ms int64)    { t.ms = append(t.ms, ms) }
func (t *Times) rows() int       { return len(t.ms) }
func (t *Times) leaves() []*leaf { return []*leaf{t.leaf} }
func (t *Times) empty()          { t.ms = t.ms[:0] }
func (t *Times) schema() []format.SchemaElement {
	e := t.leaf.element()
	e.ConvertedType = thrift.New(deprecated.TimestampMillis)
	e.LogicalType.Value = &format.TimestampType{IsAdjustedToUTC: true,
		Unit: format.TimeUnit{Value: &format.MilliSeconds{}}}
	return []format.SchemaElement{e}
}

// Doubles are floating-point numbers.
type Doubles struct {
	v    []float64
	leaf *leaf
}

// NewDoubles returns a column of numbers.
func NewDoubles(name string) *Doubles {
	d := &Doubles{}
	d.leaf = &leaf{path: []string{name}, kind: format.Double, encoding: format.Plain, values: d.rows,
		page: func() ([]byte, error) {
			return new(plain.Encoding).EncodeDouble(nil, d.v)
		}}
	return d
}

// Add appends the number of a row.
func (d *Doubles) Add(v float64)                  { d.v = append(d.v, v) }
func (d *Doubles) rows() int                      { return len(d.v) }
func (d *Doubles) leaves() []*leaf                { return []*leaf{d.leaf} }
func (d *Doubles) empty()                         { d.v = d.v[:0] }
func (d *Doubles) schema() []format.SchemaElement { return []format.SchemaElement{d.leaf.element()} }

// Texts are words that repeat: each is stored once per group.
type Texts struct {
	number map[string]int32
	words  []string
	index  []int32
	leaf   *leaf
}

// NewTexts returns a column of text.
func NewTexts(name string) *Texts { return newTexts(name) }

func newTexts(path ...string) *Texts {
	x := &Texts{number: map[string]int32{}}
	x.leaf = &leaf{
		path: path, kind: format.ByteArray, encoding: format.RLEDictionary,
		values: x.rows,
		dictionary: func() (int, []byte) {
			var out []byte
			for _, w := range x.words {
				out = plain.AppendByteArrayString(out, w)
			}
			return len(x.words), out
		},
		page: func() ([]byte, error) {
			// Indexes into the dictionary have as many bits as the largest needs; the page begins
			// with the width (Encodings.md, RLE_DICTIONARY).
			width := bits.Len(uint(max(len(x.words), 1) - 1)) //nolint:gosec // not negative
			body, err := (&rle.Encoding{BitWidth: width}).EncodeInt32(nil, x.index)
			return append([]byte{byte(width)}, body...), err
		},
		bounds: func() (least, most []byte) { return bounds(x.words, func(w string) []byte { return []byte(w) }) },
	}

	return x
}

// Add appends the text of a row.
func (x *Texts) Add(word string) {
	n, ok := x.number[word]
	if !ok {
		n = int32(len(x.words)) //nolint:gosec // less than a group's rows
		x.number[word] = n
		x.words = append(x.words, word)
	}
	x.index = append(x.index, n)
}

func (x *Texts) rows() int       { return len(x.index) }
func (x *Texts) leaves() []*leaf { return []*leaf{x.leaf} }
func (x *Texts) empty() {
	clear(x.number)
	x.words, x.index = x.words[:0], x.index[:0]
}

func (x *Texts) schema() []format.SchemaElement {
	e := x.leaf.element()
	e.ConvertedType = thrift.New(deprecated.UTF8)
	e.LogicalType.Value = &format.StringType{}
	return []format.SchemaElement{e}
}

// Maps map text to text.
type Maps struct {
	name         string
	keys, values *Texts
	n            int
	// repetition level of each pair: 1 if it is in the same row as the previous one. An empty map
	// has a 0 and no pair
	again   []uint8
	present []uint8 // definition level of each: 1 for a pair, 0 for an empty map
}

// NewMaps returns a column of maps.
func NewMaps(name string) *Maps {
	m := &Maps{name: name, keys: newTexts(name, "key_value", "key"),
		values: newTexts(name, "key_value", "value")}
	for _, x := range []*Texts{m.keys, m.values} {
		words := x.leaf.page
		x.leaf.values = func() int { return len(m.again) }
		x.leaf.bounds = nil
		x.leaf.page = func() ([]byte, error) {
			var out []byte
			for _, of := range [][]uint8{m.again, m.present} {
				runs, err := (&rle.Encoding{BitWidth: 1}).EncodeLevels(nil, of)
				if err != nil {
					return nil, err
				}
				out = append(binary.LittleEndian.AppendUint32(out, uint32(len(runs))), runs...) //nolint:gosec // less than a group
			}
			body, err := words()
			return append(out, body...), err
		}
	}

	return m
}

// Add appends the map of a row, given as key, value, key, value, ...
func (m *Maps) Add(pairs ...string) {
	m.n++
	if len(pairs) < 2 {
		m.again, m.present = append(m.again, 0), append(m.present, 0)
		return
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		m.again, m.present = append(m.again, uint8(min(i, 1))), append(m.present, 1) //nolint:gosec // 0 or 1
		m.keys.Add(pairs[i])
		m.values.Add(pairs[i+1])
	}
}

func (m *Maps) rows() int       { return m.n }
func (m *Maps) leaves() []*leaf { return []*leaf{m.keys.leaf, m.values.leaf} }
func (m *Maps) empty() {
	m.keys.empty()
	m.values.empty()
	m.n, m.again, m.present = 0, m.again[:0], m.present[:0]
}

func (m *Maps) schema() []format.SchemaElement {
	outer := format.SchemaElement{
		Name: m.name, RepetitionType: thrift.New(format.Required), NumChildren: thrift.New(int32(1)),
		ConvertedType: thrift.New(deprecated.Map), LogicalType: format.LogicalType{Value: &format.MapType{}},
	}
	pair := format.SchemaElement{Name: "key_value", RepetitionType: thrift.New(format.Repeated),
		NumChildren: thrift.New(int32(2))}
	return slices.Concat([]format.SchemaElement{outer, pair}, m.keys.schema(), m.values.schema())
}

// bounds returns the least and the greatest value in their stored form.
func bounds[V cmp.Ordered](all []V, bytes func(V) []byte) (least, most []byte) {
	if len(all) == 0 {
		return nil, nil
	}
	return bytes(slices.Min(all)), bytes(slices.Max(all))
}
