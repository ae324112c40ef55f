package exposition

import (
	"context"
	"io"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// TestLongFile: pages are passed on one by one, and none is kept.
func TestLongFile(t *testing.T) {
	one := []byte(page1(7))
	src := New(source.File{Path: "big.txt", Open: func() (io.ReadCloser, error) { return io.NopCloser(&repeat{b: one, n: 5000}), nil }, Modified: modified}, nil)
	m := recording.NewMemory(recording.MemoryOptions{})
	if err := src.Read(context.Background(), m, source.Options{Location: time.UTC}); err != nil {
		t.Fatal(err)
	}
	if d := src.Describe(); d.Samples != 5000 || d.To.Sub(d.From) != 4999*time.Second {
		t.Errorf("described as %+v", d)
	}
}

type repeat struct {
	b   []byte
	n   int
	buf []byte
}

func (r *repeat) Read(p []byte) (int, error) {
	if len(r.buf) == 0 {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.buf = r.b
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

func BenchmarkFile(b *testing.B) {
	one := []byte(page1(7))
	const pages = 2000
	src := New(source.File{Path: "big.txt", Open: func() (io.ReadCloser, error) { return io.NopCloser(&repeat{b: one, n: pages}), nil }, Modified: modified}, nil)
	b.SetBytes(int64(len(one)) * pages)
	for b.Loop() {
		if err := src.Read(context.Background(), recording.NewMemory(recording.MemoryOptions{}), source.Options{Location: time.UTC}); err != nil {
			b.Fatal(err)
		}
	}
}
