package ftdc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"plimsoll/internal/engine/mongodb/ftdctest"
	"plimsoll/internal/engine/mongodb/names"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A drain is a writer that discards everything but still has to receive it.
type drain struct{ columns, values int64 }

func (d *drain) Append(_ context.Context, b *recording.Batch) error {
	d.columns += int64(len(b.Columns))
	d.values += int64(len(b.Columns)) * int64(len(b.TimesMs))
	return nil
}
func (d *drain) Note(recording.Note)     {}
func (d *drain) Source(recording.Source) {}

// want150 selects about as many metrics as the rule pack uses.
func want150(s *Schema) func(string) bool {
	wanted := map[string]bool{}
	for i := 0; i < s.Len() && len(wanted) < 150; i += max(1, s.Len()/150) {
		if l, ok := names.Metric(s.Path(i)); ok {
			wanted[l.Get("__name__")] = true
		}
	}
	return func(name string) bool { return wanted[name] }
}

// BenchmarkRead compares reading with merely inflating, in compressed bytes per second. Each case reads
// a whole folder of two files, so that the fixed cost of a file is included.
func BenchmarkRead(b *testing.B) {
	captures := []struct{ name, path string }{{"synthetic", syntheticFolder(b, 3400, 2, 12)}}
	for name, file := range map[string]string{"8.0": "metrics.visualzhou-example", "3.6": "v3.6.3/metrics.2019-05-03T10-37-35Z-00000"} {
		if path := filepath.Join(realCaptures, file); exists(path) {
			captures = append(captures, struct{ name, path string }{name, repeated(b, path, 16)})
		}
	}

	for _, c := range captures {
		schema, size := survey(b, c.path)
		b.Run(c.name+"/inflate/cores=1", func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			b.SetBytes(size)
			before := cpuSeconds()
			for b.Loop() {
				inflateAll(b, c.path)
			}
			reportCPU(b, size, before)
		})

		for _, how := range []struct {
			name string
			want func(string) bool
		}{{"all", nil}, {"want=150", want150(schema)}, {"want=0", func(string) bool { return false }}} {
			for cores := 1; cores <= 2; cores++ {
				b.Run(fmt.Sprintf("%s/%s/cores=%d", c.name, how.name, cores), func(b *testing.B) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
					b.SetBytes(size)
					before := cpuSeconds()

					for b.Loop() {
						src, err := Open(c.path)
						if err != nil {
							b.Fatal(err)
						}
						if err := src.Read(context.Background(), &drain{}, source.Options{Want: how.want, Parallel: cores}); err != nil {
							b.Fatal(err)
						}
					}

					reportCPU(b, size, before)
				})
			}
		}
	}
}

// repeated makes a folder with many links to one file. All of them are decoded, but only the
// samples of the first are new.
func repeated(tb testing.TB, path string, times int) string {
	tb.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	for i := range times {
		if err := os.Symlink(path, filepath.Join(dir, fmt.Sprintf("metrics.%02d", i))); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// syntheticFolder makes a folder of files with the given number of chunks each.
func syntheticFolder(tb testing.TB, metrics, files, chunks int) string {
	tb.Helper()
	dir := tb.TempDir()
	s := ftdctest.NewServer(1)
	s.Metrics = metrics

	for i := range files {
		var file bytes.Buffer
		if err := s.Metadata(&file); err != nil {
			tb.Fatal(err)
		}

		for range chunks {
			if err := s.Chunk(&file); err != nil {
				tb.Fatal(err)
			}
		}

		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("metrics.2026-01-01T00-00-%02dZ-00000", i)), file.Bytes(), 0o644); err != nil {
			tb.Fatal(err)
		}
	}

	return dir
}

// survey returns a capture's first schema and its size.
func survey(tb testing.TB, path string) (schema *Schema, size int64) {
	files, err := Files(path)
	if err != nil {
		tb.Fatal(err)
	}

	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}

		info, err := f.Stat()
		if err != nil {
			tb.Fatal(err)
		}

		size += info.Size()
		if schema == nil {
			c, err := NewScanner(name, f).Next()
			if err != nil {
				tb.Fatal(err)
			}
			schema = c.Schema
		}

		f.Close()
	}

	return schema, size
}

// inflateAll only reads and inflates every chunk.
func inflateAll(tb testing.TB, path string) {
	files, err := Files(path)
	if err != nil {
		tb.Fatal(err)
	}

	var inf inflater
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}

		for s := newStream(name, f); ; {
			d, err := s.next()
			if err != nil {
				break
			}
			if d.kind == docChunk {
				if _, err := inf.inflate(d.payload); err != nil {
					tb.Fatal(err)
				}
			}
		}

		f.Close()
	}
}
