package ftdc

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"

	"plimsoll/internal/engine/mongodb/ftdctest"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// Files that are small on disk but large in memory are refused before they grow, and the error names
// the file and the limit. Memory is measured under a limit that the garbage collector obeys.
func TestBombs(t *testing.T) {
	if underRace {
		t.Skip("hundreds of megabytes of samples; too slow under the race detector")
	}

	const limit = 400 << 20 // of the collector
	for _, b := range []struct {
		name  string
		file  func() []byte
		text  string
		alive int64
	}{
		{"names that share a long beginning", longNames, "a metric's name has 200012 bytes; at most 4096 are read", 16 << 20},
		{"many names of a medium length", manyNames, "the metrics' names have over 8388608 bytes", 64 << 20},
		{"runs of zeros", func() []byte { return flood(120, 200, 1) }, "values in a capture of", 50 << 20},
		{"every value differs", func() []byte { return flood(60, 30, MaxSamples) }, "values in a capture of", 100 << 20},
		{"more values than a chunk has", func() []byte { return flood(200, 1, 1) }, "at most 16777216 values are read", 16 << 20},
	} {
		t.Run(b.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "metrics.bomb")
			size := writeBomb(t, file, b.file)
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
			runtime.GC()
			before, allocated := heap()

			src, err := Open(file)
			if err != nil {
				t.Fatal(err)
			}

			m := recording.NewMemory(recording.MemoryOptions{})
			err = src.Read(t.Context(), m, source.Options{Parallel: 2})
			_, allocatedNow := heap()
			runtime.GC()
			now, _ := heap()

			if err == nil || !strings.Contains(err.Error(), b.text) || !strings.Contains(err.Error(), file) {
				t.Errorf("error %v, want one with %q and the file", err, b.text)
			}

			t.Logf("%d bytes of file: %d MB live, %d MB allocated, the recording says %d MB", size, (now-before)>>20, (allocatedNow-allocated)>>20, m.Bytes()>>20)
			if now-before > b.alive {
				t.Errorf("%d MB are live after a file of %d bytes", (now-before)>>20, size)
			}

			if got := allocatedNow - allocated; got > 5*limit {
				t.Errorf("%d MB were allocated", got>>20)
			}

			runtime.KeepAlive(m)
		})
	}
}

// heap returns the live heap and the bytes ever allocated.
func heap() (live, allocated int64) {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64()), int64(s[1].Value.Uint64())
}

func longNames() []byte {
	inner := ftdctest.Doc{}
	for i := range 20_000 {
		inner = append(inner, ftdctest.Field{Key: fmt.Sprint("m", i), Value: true})
	}
	return ftdctest.RawChunk(t0, append(ftdctest.Doc{
		{Key: "start", Value: ftdctest.Date(t0)},
		{Key: "serverStatus", Value: ftdctest.Doc{{Key: strings.Repeat("x", 199_996), Value: inner}}},
	}.Marshal(), 0, 0, 0, 0, 0, 0, 0, 0))
}

func manyNames() []byte {
	inner := ftdctest.Doc{}
	for i := range 60_000 {
		inner = append(inner, ftdctest.Field{Key: fmt.Sprint("m", i), Value: true})
	}
	return ftdctest.RawChunk(t0, append(ftdctest.Doc{
		{Key: "serverStatus", Value: ftdctest.Doc{{Key: strings.Repeat("x", 4000), Value: inner}}},
	}.Marshal(), 0, 0, 0, 0, 0, 0, 0, 0))
}

// flood makes a file of chunks with the maximum number of samples, a millisecond apart. In each chunk,
// each metric rises by one the given number of times.
func flood(width, chunks, ups int) []byte {
	var out bytes.Buffer
	for i := range chunks {
		sample := ftdctest.Doc{}
		for k := range width {
			sample = append(sample, ftdctest.Field{Key: fmt.Sprint("m", k), Value: int64(i)})
		}

		reference := ftdctest.Doc{
			{Key: "start", Value: t0 + ftdctest.Date(i*MaxSamples)},
			{Key: "serverStatus", Value: sample},
		}.Marshal()

		b := binary.LittleEndian.AppendUint32(reference, uint32(width+1))
		b = binary.LittleEndian.AppendUint32(b, MaxSamples-1)

		b = append(b, bytes.Repeat([]byte{1}, MaxSamples-1)...)
		for range width {
			n := min(ups, MaxSamples-1)
			b = append(b, bytes.Repeat([]byte{1}, n)...)
			if rest := MaxSamples - 1 - n; rest > 0 {
				b = binary.AppendUvarint(append(b, 0), uint64(rest-1))
			}
		}

		out.Write(ftdctest.RawChunk(t0+ftdctest.Date(i*MaxSamples), b))
	}

	return out.Bytes()
}

// Captures of real servers stay far below the limit.
func TestCapturesAreNoBombs(t *testing.T) {
	found := 0
	for _, pattern := range []string{"ftdc/metrics.*", "ftdc/*/metrics.*", "mongod/*/diagnostic.data/metrics.*"} {
		files, err := filepath.Glob(filepath.Join(realCaptures, "..", pattern))
		if err != nil {
			t.Fatal(err)
		}

		for _, file := range files {
			src, err := Open(file)
			if err != nil {
				continue
			}

			counted := &counter{}
			if err := src.Read(t.Context(), counted, source.Options{}); err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}

			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}

			found++

			// A quarter leaves headroom for servers that are busier than these.
			if share := float64(counted.values) / float64(info.Size()); share > valuesPerByte/4 || math.IsNaN(share) {
				t.Errorf("%s: %.1f values a byte, the bound is %d", file, share, valuesPerByte)
			}
		}
	}

	if found == 0 {
		t.Skip("no captures of real servers are here")
	}
}

// counter counts values the way output does.
type counter struct{ values int64 }

func (c *counter) Append(_ context.Context, b *recording.Batch) error {
	for i := range b.Columns {
		if len(b.Columns[i].Values) == 1 {
			c.values += int64(len(b.TimesMs))/constantShare + 1
		} else {
			c.values += int64(len(b.TimesMs))
		}
	}
	return nil
}

func (*counter) Note(recording.Note)     {}
func (*counter) Source(recording.Source) {}

// writeBomb writes a file and returns its size. Its bytes are garbage afterwards, so they do not
// distort the measured heap.
func writeBomb(t *testing.T, path string, file func() []byte) int {
	t.Helper()
	text := file()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return len(text)
}
