package iostat

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// endless is a log without end, to show that reading takes hardly any memory.
type endless struct {
	report []byte
	left   int
	buf    []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.buf) == 0 {
		if e.left == 0 {
			return 0, io.EOF
		}
		e.left--
		e.buf = e.report
	}
	n := copy(p, e.buf)
	e.buf = e.buf[n:]
	return n, nil
}

// sink is a writer that discards everything.
type sink struct{ batches, values, maxValues int }

func (s *sink) Append(_ context.Context, b *recording.Batch) error {
	s.batches++
	n := 0
	for _, c := range b.Columns {
		n += len(c.Values)
		if c.Labels.Get(labels.MetricName) == "" {
			return fmt.Errorf("a column without a name")
		}
	}
	s.values += n
	s.maxValues = max(s.maxValues, n)
	return nil
}

func (s *sink) Note(recording.Note) {}

func (s *sink) Source(recording.Source) {}

func TestBatchesAreBounded(t *testing.T) {
	text, err := os.ReadFile("testdata/xy_no_times.log")
	if err != nil {
		t.Fatal(err)
	}

	report := text[bytes.Index(text, []byte("avg-cpu")):]
	src, err := New(source.File{Path: "big.log", Modified: modified, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(&endless{report: report, left: 4000}), nil
	}})
	if err != nil {
		t.Fatal(err)
	}

	var s sink
	if err := src.Read(context.Background(), &s, source.Options{Location: time.UTC}); err != nil {
		t.Fatal(err)
	}

	if d := src.Describe(); d.Samples != 6*4000 {
		t.Errorf("%d samples, want %d", d.Samples, 6*4000)
	}

	if s.maxValues > 2*batchValuesMax || s.values < 6*4000*20 {
		t.Errorf("%d values, at most %d in one batch", s.values, s.maxValues)
	}
}

func BenchmarkRead(b *testing.B) {
	text, err := os.ReadFile("testdata/xy_no_times.log")
	if err != nil {
		b.Fatal(err)
	}

	report := text[bytes.Index(text, []byte("avg-cpu")):]
	const repeat = 2000
	src, err := New(source.File{Path: "big.log", Modified: modified, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(&endless{report: report, left: repeat}), nil
	}})
	if err != nil {
		b.Fatal(err)
	}

	b.SetBytes(int64(len(report)) * repeat)
	b.ReportAllocs()

	for b.Loop() {
		if err := src.Read(context.Background(), &sink{}, source.Options{Location: time.UTC}); err != nil {
			b.Fatal(err)
		}
	}
}
