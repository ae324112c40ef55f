package mongotest

import (
	"fmt"
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
	r := &Replay{}
	err := chunks(file, func(c *ftdc.Chunk) (bool, error) {
		err := r.chunk(c, samples-len(r.Times))
		return len(r.Times) < samples, err
	})
	return r, err
}

// chunk puts the samples' values in the places of those of the first sample, which is stored whole.
func (r *Replay) chunk(samples *ftdc.Chunk, most int) error {
	times, err := samples.Times()
	if err != nil {
		return err
	}

	var first bson.D
	if err := bson.Unmarshal(samples.Reference, &first); err != nil {
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
		doc, err := bson.Marshal(replaced(first, func() int64 {
			col := columns[min(metric, len(columns)-1)]
			metric++
			return col[min(i, len(col)-1)]
		}))
		if err != nil {
			return err
		}

		// Documents and columns must agree, or every later value would be in the wrong place.
		if metric != len(columns) {
			return fmt.Errorf("%d numbers of %d metrics", metric, len(columns))
		}

		r.Times = append(r.Times, time.UnixMilli(times[i]))
		r.Documents = append(r.Documents, doc)
	}

	return nil
}

// replaced returns a value with other numbers, in order. Integers become 64-bit ones, as on a server when
// one becomes too large.
func replaced(value any, next func() int64) any {
	switch v := value.(type) {
	case bson.D:
		out := slices.Clone(v)
		for i := range out {
			out[i].Value = replaced(out[i].Value, next)
		}
		return out
	case bson.A:
		out := slices.Clone(v)
		for i := range out {
			out[i] = replaced(out[i], next)
		}
		return out
	case int32, int64:
		return next()
	case float64:
		return float64(next())
	case bool:
		return next() != 0
	case bson.DateTime:
		return bson.DateTime(next())
	case bson.Timestamp:
		return bson.Timestamp{T: uint32(next()), I: uint32(next())}
	}
	return value
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
