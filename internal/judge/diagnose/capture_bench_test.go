package diagnose_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/engine/mongodb/ftdc"
	"plimsoll/internal/engine/mongodb/ftdctest"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

// BenchmarkCaptureOfADay goes from a diagnostic.data folder to the verdict: a day of one-second samples
// of 3,400 metrics, in files of 10 MB as mongod writes them. The capture is made before the timer
// starts.
func BenchmarkCaptureOfADay(b *testing.B) { benchmarkCapture(b, 288) }

// BenchmarkCaptureOfAMonth does the same for thirty days, 2.7 GB. B/peak is the peak memory of the
// process.
func BenchmarkCaptureOfAMonth(b *testing.B) {
	if testing.Short() {
		b.Skip("it reads a month")
	}
	benchmarkCapture(b, 30*288)
}

func benchmarkCapture(b *testing.B, chunks int) {
	dir := capture(b, func(dir string) { writeCapture(b, dir, chunks) })
	b.ReportAllocs()

	for b.Loop() {
		src, err := ftdc.Open(dir)
		if err != nil {
			b.Fatal(err)
		}

		mem := recording.NewMemory(recording.MemoryOptions{})
		if err := src.Read(context.Background(), mem, source.Options{Want: diagnose.Wants(testkit.Pack())}); err != nil {
			b.Fatal(err)
		}

		r, err := diagnose.Run(context.Background(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
		if err != nil {
			b.Fatal(err)
		}

		if want := 298 * float64(chunks); r.Stalls.Of < want {
			b.Fatalf("%v s were judged, not %v", r.Stalls.Of, want)
		}
	}

	reportPeak(b)
}

// BenchmarkRecordingOfAMonth goes from a recording's folder to the verdict: thirty days of one-second
// samples of a host and a MongoDB server, with five incidents.
func BenchmarkRecordingOfAMonth(b *testing.B) {
	if testing.Short() {
		b.Skip("it reads a month")
	}

	dir := capture(b, func(dir string) {
		d, err := recording.Create(dir, recording.DiskOptions{})
		if err != nil {
			b.Fatal(err)
		}
		recordDays(b, d, 30*24*time.Hour, events)
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
	})

	b.ReportAllocs()
	for b.Loop() {
		in, err := recording.Open(dir)
		if err != nil {
			b.Fatal(err)
		}

		r, err := diagnose.Run(context.Background(), []recording.Reader{in}, diagnose.Options{Pack: testkit.Pack()})
		if err != nil {
			b.Fatal(err)
		}

		named(b, r)
		if err := in.Close(); err != nil {
			b.Fatal(err)
		}
	}

	reportPeak(b)
}

// capture makes a capture and returns its folder.
func capture(b *testing.B, write func(dir string)) string {
	dir := b.TempDir()
	write(dir)
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // VmHWM is reset, if the system supports it
	return dir
}

// reportPeak reports the peak memory of the process since the capture was made, if the system provides
// it.
func reportPeak(b *testing.B) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(status)) {
		var kB float64
		if n, err := fmt.Sscanf(line, "VmHWM: %f kB", &kB); n == 1 && err == nil {
			b.ReportMetric(kB*1024, "B/peak")
		}
	}
}

// writeCapture writes chunks of 300 samples into files of about 10 MB.
func writeCapture(tb testing.TB, dir string, chunks int) {
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
			if f, err = os.Create(filepath.Join(dir, "metrics.2026-11-21T00-00-00Z-"+fmt.Sprintf("%05d", i))); err != nil {
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
	}

	finish()
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
