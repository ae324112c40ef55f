package ftdctest

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zlib"
)

// An Encoder writes a file of diagnostic.data.
type Encoder struct {
	w        io.Writer
	perChunk int

	first   Doc
	schema  string
	samples [][]int64 // values of each sample of the current chunk
}

// NewEncoder writes to w, with at most perChunk samples per chunk (a server: 300).
func NewEncoder(w io.Writer, perChunk int) *Encoder { return &Encoder{w: w, perChunk: perChunk} }

// Add adds a sample. A chunk is written when it is full, or when the schema changes.
func (e *Encoder) Add(sample Doc) error {
	values, schema := sample.Metrics()
	if len(e.samples) > 0 && (schema != e.schema || len(e.samples) == e.perChunk) {
		if err := e.Flush(); err != nil {
			return err
		}
	}
	if len(e.samples) == 0 {
		e.first, e.schema = sample, schema
	}
	e.samples = append(e.samples, values)
	return nil
}

// Flush writes the current chunk, if there is one.
func (e *Encoder) Flush() error {
	if len(e.samples) == 0 {
		return nil
	}

	columns := make([][]int64, len(e.samples[0]))
	for i := range columns {
		for _, s := range e.samples {
			columns[i] = append(columns[i], s[i])
		}
	}

	date := Date(0)
	for _, f := range e.first {
		if d, ok := f.Value.(Date); ok && f.Key == "start" {
			date = d
		}
	}

	_, err := e.w.Write(Chunk(date, e.first.Marshal(), columns))
	e.samples = e.samples[:0]
	return err
}

// Metadata writes a document of type 0.
func (e *Encoder) Metadata(date Date, doc Doc) error {
	return e.document(Doc{{Key: "_id", Value: date}, {Key: "type", Value: int32(0)}, {Key: "doc", Value: doc}})
}

// Settings writes a document of type 2: count 0 for all settings, higher for a change.
func (e *Encoder) Settings(date Date, count int, doc Doc) error {
	return e.document(Doc{{Key: "_id", Value: date}, {Key: "type", Value: int32(2)},
		{Key: "count", Value: int32(count)}, {Key: "doc", Value: doc}})
}

func (e *Encoder) document(d Doc) error {
	if err := e.Flush(); err != nil {
		return err
	}
	_, err := e.w.Write(d.Marshal())
	return err
}

// Chunk returns a document of type 1: the reference document and all columns. The first sample of
// each column is the reference's.
func Chunk(date Date, reference []byte, columns [][]int64) []byte {
	b := binary.LittleEndian.AppendUint32(bytes.Clone(reference), uint32(len(columns)))
	deltas := 0
	if len(columns) > 0 {
		deltas = len(columns[0]) - 1
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(deltas))
	return RawChunk(date, AppendDeltas(b, columns))
}

// RawChunk returns a document of type 1 around the bytes of a chunk, whether or not they are valid.
func RawChunk(date Date, inflated []byte) []byte {
	var data bytes.Buffer
	data.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(inflated))))
	z := zlib.NewWriter(&data)
	if _, err := z.Write(inflated); err != nil {
		panic(err) // a bytes.Buffer never fails
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return ChunkDocument(date, data.Bytes())
}

// ChunkDocument returns a document of type 1 with the given data: a length, then a zlib stream.
func ChunkDocument(date Date, data []byte) []byte {
	return Doc{{Key: "_id", Value: date}, {Key: "type", Value: int32(1)}, {Key: "data", Value: data}}.Marshal()
}

// AppendDeltas writes the differences of all columns. As on a server, runs of zeros continue from
// one column into the next.
func AppendDeltas(b []byte, columns [][]int64) []byte {
	zeros := uint64(0)
	flush := func() {
		if zeros > 0 {
			b = binary.AppendUvarint(append(b, 0), zeros-1)
			zeros = 0
		}
	}

	for _, c := range columns {
		for i := 1; i < len(c); i++ {
			d := uint64(c[i]) - uint64(c[i-1])
			if d == 0 {
				zeros++
				continue
			}
			flush()
			b = binary.AppendUvarint(b, d)
		}
	}

	flush()
	return b
}
