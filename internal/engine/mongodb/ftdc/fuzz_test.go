package ftdc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"

	"plimsoll/internal/engine/mongodb/ftdctest"
)

// scan reads and decodes everything that is readable.
func scan(t *testing.T, file []byte) (chunks int) {
	s := NewScanner("fuzz", bytes.NewReader(file))
	for entries := 0; ; entries++ {
		if entries > len(file) {
			t.Fatalf("over %d entries in a file of %d bytes", entries, len(file))
		}

		c, err := s.Next()
		var damage *DamageError
		switch {
		case errors.Is(err, io.EOF):
			return chunks
		case errors.As(err, &damage):
			if damage.Bytes <= 0 || damage.Offset < 0 || damage.Offset+damage.Bytes > int64(len(file)) {
				t.Fatalf("damage of %d bytes at %d in a file of %d", damage.Bytes, damage.Offset, len(file))
			}
			continue
		case err != nil:
			t.Fatal(err)
		}

		if c.Samples()*c.Schema.Len() < 1<<22 {
			chunks++
			agree(t, c)
		}
	}
}

// agree decodes a chunk both completely and partially, and compares the results.
func agree(t *testing.T, c *Chunk) {
	for i := range c.Schema.Len() {
		if _, err := c.Column(i); err != nil {
			return
		}
	}

	want := func(name string) bool { return hash(name)%3 == 0 }
	d := c.deltas

	n := c.Samples()
	for _, st := range makePlan(c.Schema, want).steps {
		if err := d.skip(uint64(st.skip) * uint64(n-1)); err != nil {
			t.Fatalf("cannot skip the metrics before %d: %v", st.metric, err)
		}

		got := make([]float64, n)
		if d.constant(n - 1) {
			fill(got, float64(c.first[st.metric]))
		} else if err := column(&d, c.first[st.metric], got); err != nil {
			t.Fatal(err)
		}

		all, _ := c.Column(st.metric)
		for k, v := range got {
			if v != float64(all[min(k, len(all)-1)]) {
				t.Fatalf("metric %d, sample %d: %v when others are skipped, %v otherwise", st.metric, k, v, all)
			}
		}
	}
}

// hostile are chunks with false claims.
func hostile() map[string][]byte {
	ref := ftdctest.Doc{{Key: "start", Value: ftdctest.Date(t0)}, {Key: "a", Value: int64(1)}}.Marshal()
	counts := func(metrics, deltas uint32, rest ...byte) []byte {
		b := binary.LittleEndian.AppendUint32(bytes.Clone(ref), metrics)
		return append(binary.LittleEndian.AppendUint32(b, deltas), rest...)
	}

	deep := ftdctest.Doc{{Key: "x", Value: int64(1)}}
	for range 2000 {
		deep = ftdctest.Doc{{Key: "x", Value: deep}}
	}

	many := make(ftdctest.Doc, 0, MaxMetrics+1)
	for range cap(many) {
		many = append(many, ftdctest.Field{Key: "m", Value: true})
	}

	longRun := binary.AppendUvarint([]byte{0}, 1<<63)
	return map[string][]byte{
		"over 65536 metrics":                      append(many.Marshal(), 0, 0, 0, 0, 0, 0, 0, 0),
		"nested deeper than 10":                   append(deep.Marshal(), 0, 0, 0, 0, 0, 0, 0, 0),
		"states 0 metrics":                        counts(0, 0),
		"states 3 metrics":                        counts(3, 1, 1, 1, 1),
		"at most 131072 are read":                 counts(2, 1<<31),
		"metric 1 of 2: deltas end before":        counts(2, 100, 1, 2, 3),
		"metric 2 of 2: deltas end before":        counts(2, 3, 1, 2, 3),
		"metric 1 of 2: a delta of over 10 bytes": counts(2, 3, bytes.Repeat([]byte{0xff}, 40)...),
		"metric 2 of 2: a delta of over 10 bytes": counts(2, 3, append([]byte{1, 2, 3, 4}, bytes.Repeat([]byte{0x80}, 11)...)...),
		"ends before its counts":                  ref,
		"document of stated length 4":             {4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"":                                        counts(2, MaxSamples-1, longRun...), // a run longer than requested
	}
}

// bomb is a chunk that inflates to far more than it states.
func bomb(states uint32, size int) []byte {
	var b bytes.Buffer
	b.Write(binary.LittleEndian.AppendUint32(nil, states))
	z := zlib.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for ; size > 0; size -= len(zeros) {
		if _, err := z.Write(zeros[:min(size, len(zeros))]); err != nil {
			panic(err) // a bytes.Buffer never fails
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return ftdctest.ChunkDocument(t0, b.Bytes())
}

// Each false claim is named in its error.
func TestHostile(t *testing.T) {
	files := map[string][]byte{
		"inflates to more than the 1000":    bomb(1000, 16<<20),
		"states an inflated length of 4294": bomb(1<<32-1, 100),
		"inflates to 100 bytes, but states": bomb(MaxInflated, 100),
		"has no length":                     ftdctest.ChunkDocument(t0, []byte{1}),
		"cannot be decompressed: ":          ftdctest.ChunkDocument(t0, []byte("\x10\x00\x00\x00no zlib stream")),
	}

	for want, inflated := range hostile() {
		files[want] = ftdctest.RawChunk(t0, inflated)
	}

	for want, file := range files {
		c, err := NewScanner("hostile", bytes.NewReader(file)).Next()
		if err == nil {
			_, err = c.Column(0)
		}
		if got := ""; err != nil {
			if got = err.Error(); want == "" || !strings.Contains(got, want) {
				t.Errorf("error %q, want %q", got, want)
			}
		} else if want != "" {
			t.Errorf("no error, want %q", want)
		}
	}
}

// Memory grows with the bytes that arrive, not with the stated length.
func TestBombMemory(t *testing.T) {
	for _, file := range [][]byte{bomb(1000, 16<<20), bomb(MaxInflated, 100), bomb(1<<32-1, 100)} {
		s := NewScanner("bomb", bytes.NewReader(file))
		if _, err := s.Next(); err == nil {
			t.Fatal("no error")
		}
		if n := s.chunks.inflater.buf.Cap(); n > 512<<10 {
			t.Errorf("%d bytes of memory for a much smaller chunk", n)
		}
	}
}

func FuzzScan(f *testing.F) {
	good := slices.Concat(capturedTicks(f, 5), capturedTicks(f, 40))
	f.Add(good)
	f.Add(good[:len(good)-7])
	f.Add(append(good[:100:100], good[120:]...))
	f.Add(bomb(1000, 1<<20))
	for _, b := range hostile() {
		if file := ftdctest.RawChunk(t0, b); len(file) < 1<<16 {
			f.Add(file)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) { scan(t, file) })
}

// FuzzChunk fuzzes the content of the deflated stream, which FuzzScan rarely reaches.
func FuzzChunk(f *testing.F) {
	for _, b := range hostile() {
		if len(b) < 1<<16 {
			f.Add(b)
		}
	}

	s := NewScanner("seed", bytes.NewReader(capturedTicks(f, 40)))
	c, err := s.Next()
	if err != nil {
		f.Fatal(err)
	}

	d := c.deltas
	f.Add(bytes.Clone(d.buf[:d.end]))
	f.Fuzz(func(t *testing.T, inflated []byte) {
		if len(inflated) > 1<<20 {
			t.Skip()
		}
		scan(t, ftdctest.RawChunk(t0, inflated))
	})
}

// FuzzSkip compares skipping deltas with decoding them.
func FuzzSkip(f *testing.F) {
	f.Add([]byte{1, 2, 0, 5, 0x80, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 3}, uint8(9))
	f.Add([]byte{0x80, 0, 0, 0, 5}, uint8(3))
	f.Add(binary.AppendUvarint([]byte{1, 2, 3, 0}, 1<<63), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, n uint8) {
		padded := append(bytes.Clone(b), make([]byte, deltaPad)...)
		one, other := newDeltas(padded, 0), newDeltas(padded, 0)

		out := make([]int64, int(n)+1)
		for range 1000 { // metrics; limited, because a run of zeros may be very long
			if column(&one, 0, out) != nil {
				return
			}

			if err := other.skip(uint64(n)); err != nil {
				t.Fatalf("decoded, but not skipped: %v", err)
			}

			if one.pos != other.pos || one.zeros != other.zeros {
				t.Fatalf("decoded to %d and %d zeros, skipped to %d and %d", one.pos, one.zeros, other.pos, other.zeros)
			}

			if one.pos == one.end {
				return
			}
		}
	})
}

func capturedTicks(t testing.TB, n float64) []byte { return file(t, ticks(0, span(0, n)...)) }
