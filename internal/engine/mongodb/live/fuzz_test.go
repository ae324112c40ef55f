package live

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// Any response gives a sample or an error, and never a panic. The driver checks only a document's
// outline.
func FuzzAnswers(f *testing.F) {
	for _, d := range []any{
		bson.D{}, bson.D{{Key: "ok", Value: 1.0}, {Key: "host", Value: "h"}, {Key: "uptimeMillis", Value: int64(7)}},
		bson.D{{Key: "data", Value: bson.D{{Key: "start", Value: time.Unix(1, 0)}, {Key: "serverStatus", Value: bson.D{{Key: "host", Value: 1}}}}}},
		bson.D{{Key: "opLatencies", Value: bson.D{{Key: "reads", Value: bson.D{{Key: "histogram", Value: bson.A{bson.D{{Key: "micros", Value: 2}, {Key: "count", Value: 1}}}}}}}}},
		bson.D{{Key: "shards", Value: bson.A{bson.D{{Key: "host", Value: "h"}}}}, {Key: "hosts", Value: bson.A{"a", 1}}},
		bson.D{{Key: "databases", Value: bson.A{bson.D{{Key: "name", Value: "x"}, {Key: "sizeOnDisk", Value: 3}}}}, {Key: "localTime", Value: time.Unix(1, 0)}},
	} {
		b, err := bson.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := bson.Raw(text)
		if d.Validate() != nil {
			return // the driver rejects it
		}

		a, err := parse("mongodb://a,b/", func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}

		m := &server{address: a, Polled: source.NewPolled(recording.Source{})}
		s := newSampler(m, &link{address: a}, nowhere{recording.NewMemory(recording.MemoryOptions{})}, source.Options{})
		hosts(d)
		s.host(d)
		alone(d)
		_, _ = classCounts(d)
		sizesOf(d, "h", "x", time.Now())
		_, _ = s.reader("status", "").Read(d)
		_, _ = s.reader("status", "").Read(d)
	})
}

// Whatever arrives on a connection, no message exceeds the limit, and data within the limits is
// unchanged.
func FuzzFraming(f *testing.F) {
	message := func(n uint32, code uint32, more ...byte) []byte {
		b := binary.LittleEndian.AppendUint32(nil, n)
		b = binary.LittleEndian.AppendUint32(append(b, make([]byte, 8)...), code)
		return append(b, more...)
	}

	f.Add(message(20, 2013, 1, 2, 3, 4), 3)
	f.Add(message(30, opCompressed, 0, 0, 0, 0, 255, 255, 255, 127, 2, 0, 0, 0, 0, 0), 7)
	f.Add(message(1<<30, 1), 100)
	f.Add(message(0, 1), 5)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = theirs.Write(text)
			_ = theirs.Close()
		}()

		defer ours.Close()
		c := &framed{Conn: ours}
		b := make([]byte, max(1, min(step, 4096)))

		var got []byte
		for {
			n, err := c.Read(b)
			got = append(got, b[:n]...)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return
			}
		}

		if string(got) != string(text) {
			t.Errorf("%q arrived as %q", text, got)
		}
	})
}
