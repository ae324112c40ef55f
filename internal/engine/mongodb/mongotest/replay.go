package mongotest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/engine/mongodb/ftdc"
)

// A Replay is a mongod's own samples, at their original times.
type Replay struct {
	Times []time.Time
	// Documents are complete, as on the server: serverStatus, systemMetrics and so on.
	Documents []bson.Raw

	once       sync.Once
	histograms [][]bson.A
}

// Load reads up to the given number of samples from a file of diagnostic.data, each as the document
// that the server sampled.
func Load(file string, samples int) (*Replay, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}

	defer f.Close()
	r := &Replay{}
	for s := ftdc.NewScanner(file, f); len(r.Times) < samples; {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return nil, err
		}

		if e.Chunk != nil {
			if err := r.chunk(e.Chunk, samples-len(r.Times)); err != nil {
				return nil, fmt.Errorf("%s: byte %d: %w", file, e.Offset, err)
			}
		}
	}

	return r, nil
}

// chunk writes the samples' values over those of the first sample, which is stored whole.
func (r *Replay) chunk(samples *ftdc.Chunk, most int) error {
	times, err := samples.Times()
	if err != nil {
		return err
	}

	doc, err := widen(samples.Reference)
	if err != nil {
		return err
	}

	slots, err := numbers(doc, nil)
	if err != nil {
		return err
	}

	// A chunk stores columns: all values of the first metric, then all of the second.
	columns := make([][]int64, samples.Schema.Len())
	for i := range columns {
		if columns[i], err = samples.Column(i); err != nil {
			return err
		}
	}

	for i := range min(most, samples.Samples()) {
		metric := 0
		for _, s := range slots {
			value := func() int64 {
				col := columns[metric]
				metric++
				return col[min(i, len(col)-1)]
			}
			put(s, value)
		}

		// Documents and columns must agree, or every later value would be in the wrong place.
		if metric != len(columns) {
			return fmt.Errorf("%d numbers of %d metrics", metric, len(columns))
		}

		r.Times = append(r.Times, time.UnixMilli(times[i]))
		r.Documents = append(r.Documents, slices.Clone(doc))
	}

	return nil
}

// widen turns a document's 32-bit integers into 64-bit ones, as a server does when one becomes too
// large.
func widen(doc bson.Raw) (bson.Raw, error) {
	elements, err := doc.Elements()
	if err != nil {
		return nil, err
	}

	out := make([]byte, 4, len(doc)+len(doc)/4)
	for _, e := range elements {
		v := e.Value()
		switch v.Type {
		case bson.TypeEmbeddedDocument, bson.TypeArray:
			if v.Value, err = widen(v.Value); err != nil {
				return nil, err
			}
		case bson.TypeInt32:
			v = bson.RawValue{Type: bson.TypeInt64,
				Value: binary.LittleEndian.AppendUint64(nil, uint64(int64(v.Int32())))}
		}

		out = append(append(append(out, byte(v.Type)), e.Key()...), 0)
		out = append(out, v.Value...)
	}

	out = append(out, 0)
	binary.LittleEndian.PutUint32(out, uint32(len(out)))
	return out, nil
}

// numbers returns a document's numeric values, in order. They refer to the document's bytes.
func numbers(doc bson.Raw, out []bson.RawValue) ([]bson.RawValue, error) {
	elements, err := doc.Elements()
	if err != nil {
		return nil, err
	}

	for _, e := range elements {
		v := e.Value()
		switch v.Type {
		case bson.TypeEmbeddedDocument, bson.TypeArray:
			if out, err = numbers(bson.Raw(v.Value), out); err != nil {
				return nil, err
			}
		case bson.TypeDouble, bson.TypeInt64, bson.TypeBoolean, bson.TypeDateTime, bson.TypeTimestamp:
			out = append(out, v)
		}
	}

	return out, nil
}

func put(v bson.RawValue, value func() int64) {
	le := binary.LittleEndian
	x := value()
	switch v.Type {
	case bson.TypeDouble:
		le.PutUint64(v.Value, math.Float64bits(float64(x)))
	case bson.TypeBoolean:
		v.Value[0] = byte(x)
	case bson.TypeTimestamp:
		le.PutUint32(v.Value[4:], uint32(x))
		le.PutUint32(v.Value, uint32(value()))
	default:
		le.PutUint64(v.Value, uint64(x))
	}
}

// At returns the newest sample at a time, or the first one before that.
func (r *Replay) At(now time.Time) bson.Raw { return r.Documents[r.index(now)] }

func (r *Replay) index(now time.Time) int {
	i, found := slices.BinarySearchFunc(r.Times, now, time.Time.Compare)
	if !found {
		i = max(0, i-1)
	}
	return i
}

// Answer replies as the server did at the clock's time: to getDiagnosticData, serverStatus and
// replSetGetStatus, and to the necessary other commands.
func (r *Replay) Answer(clock func() time.Time) func(name string, command bson.Raw) any {
	return func(name string, command bson.Raw) any {
		now := clock()
		switch name {
		case "getDiagnosticData":
			return bson.D{{Key: "data", Value: r.At(now)}, {Key: "ok", Value: 1.0}}
		case "serverStatus":
			return r.status(r.index(now), command)
		case "replSetGetStatus":
			d, ok := r.At(now).Lookup(name).DocumentOK()
			if !ok {
				return refused(76, "not running with --replSet")
			}
			return d
		case "hostInfo":
			return fine(bson.E{Key: "system",
				Value: bson.D{{Key: "numCores", Value: int32(4)}, {Key: "memSizeMB", Value: int64(16384)}}})
		}

		return nil
	}
}
