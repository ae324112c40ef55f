package diagnose_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/engine/mongodb/ftdctest"
	"plimsoll/internal/engine/mongodb/names"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/ftdc"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// BenchmarkCaptureOfADay goes from a diagnostic.data folder to the verdict: a day at one second of
// 3,400 metrics, in files of 10 MB as mongod writes them. The capture is made before the clock
// starts.
func BenchmarkCaptureOfADay(b *testing.B) {
	dir := b.TempDir()
	bytes := writeCapture(b, dir, 288)
	b.SetBytes(bytes)
	b.ReportAllocs()
	for b.Loop() {
		src, err := ftdc.Open(dir, names.Server)
		if err != nil {
			b.Fatal(err)
		}
		mem := recording.NewMemory(recording.MemoryOptions{})
		if err := src.Read(context.Background(), mem, source.Options{Want: diagnose.Wants(pack)}); err != nil {
			b.Fatal(err)
		}
		r, err := diagnose.Run(context.Background(), []recording.Reader{mem}, diagnose.Options{Pack: pack})
		if err != nil {
			b.Fatal(err)
		}
		if r.Stalls.Of < 86_000 {
			b.Fatalf("only %v s of the day were judged", r.Stalls.Of)
		}
	}
}

// writeCapture writes chunks of 300 samples into files of about 10 MB.
func writeCapture(tb testing.TB, dir string, chunks int) (bytes int64) {
	tb.Helper()
	const fileBytesMax = 10 << 20
	server := ftdctest.NewServer(1)
	var w *bufio.Writer
	var f *os.File
	size := int64(fileBytesMax)
	finish := func() {
		if f == nil {
			return
		}
		if err := w.Flush(); err != nil {
			tb.Fatal(err)
		}
		if err := f.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	for i := range chunks {
		if size >= fileBytesMax {
			finish()
			var err error
			if f, err = os.Create(filepath.Join(dir, "metrics.2026-11-21T00-00-00Z-"+string(rune('a'+i/26))+string(rune('a'+i%26)))); err != nil {
				tb.Fatal(err)
			}
			w, size = bufio.NewWriter(f), 0
			if err := server.Metadata(w); err != nil {
				tb.Fatal(err)
			}
		}
		n := &counter{w: w}
		if err := server.Chunk(n); err != nil {
			tb.Fatal(err)
		}
		size += n.bytes
		bytes += n.bytes
	}
	finish()
	return bytes
}

type counter struct {
	w     *bufio.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.bytes += int64(n)
	return n, err
}
