package fio

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

func terseOf(t *testing.T, text []byte) (*recording.Memory, error) {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	f := NewTerse(source.File{Path: "terse.txt", Modified: time.Unix(1795226400, 0),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }})
	return m, f.Read(t.Context(), m, source.Options{})
}

// Reports that fio 3.33 wrote for the same job, in two versions of the format.
func TestTerse(t *testing.T) {
	for name, want := range map[string]struct{ iops, mean float64 }{
		"terse3.txt": {424, 21.047044e-6}, "terse5.txt": {387, 0},
	} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !SniffTerse(text) {
			t.Errorf("%s: not recognised", name)
		}

		m, err := terseOf(t, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for query, x := range map[string]float64{`fio_write_iops{job="wal"}`: want.iops,
			`fio_write_latency_mean_seconds{job="wal"}`: want.mean} {
			s, err := m.Samples(t.Context(), recording.MustSelector(query), time.Unix(0, 0), time.Unix(1<<32, 0))
			if err != nil || len(s) != 1 || x > 0 && s[0].Points[0].F-x > 1e-9 {
				t.Errorf("%s: %s: %v, %v; want %v", name, query, s, err, x)
			}
		}
		if s, _ := m.Samples(t.Context(), recording.MustSelector(`fio_write_latency_seconds{quantile="0.99"}`), time.Unix(0, 0), time.Unix(1<<32, 0)); len(s) != 1 {
			t.Errorf("%s: no p99: %v", name, s)
		}
	}
}

// A truncated line is an error with the file and the line.
func TestTerseCut(t *testing.T) {
	_, err := terseOf(t, []byte("text\n3;fio-3.33;wal;0;0;2046;954;424\n"))
	if err == nil || !strings.Contains(err.Error(), "terse.txt: line 2") {
		t.Errorf("error %v, want one with the file and line 2", err)
	}
}

func FuzzTerse(f *testing.F) {
	for _, name := range []string{"terse3.txt", "terse5.txt"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		SniffTerse(text)
		_, _ = terseOf(t, text) // any error but a panic
	})
}
