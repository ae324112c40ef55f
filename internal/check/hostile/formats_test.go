package hostile

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plimsoll/internal/engine"
	"plimsoll/internal/record/amazon"
	"plimsoll/internal/record/azure"
	"plimsoll/internal/record/google"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const (
	// seedBytesMax excludes large captures: a mutation somewhere in megabytes of healthy rows finds
	// little.
	seedBytesMax = 256 << 10
	seedsMax     = 12 // of a format
	// formatsLeast is the minimum number of formats for which the repository has files.
	formatsLeast = 10
)

func opener() *recognise.Opener {
	return recognise.For(engine.All().Sources()).With(amazon.Cloud{}, azure.Cloud{}, google.Cloud{})
}

// formats finds the files of the repository that are sources, by their recognised kind. A new reader is
// tried as soon as a testdata folder or an example has a file that it reads.
func formats(t *testing.T) map[string][][]byte {
	t.Helper()
	all, o := map[string][][]byte{}, opener()
	err := filepath.WalkDir("../../..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "bin" || e.Name() == "build" || e.Name() == "dist"):
			return fs.SkipDir
		case !e.Type().IsRegular() || !strings.Contains(path, "testdata/") && !strings.Contains(path, "/examples/"):
			return nil
		}

		info, err := e.Info()
		if err != nil || info.Size() > seedBytesMax {
			return err
		}

		in, err := o.Open(t.Context(), path, recognise.OpenOptions{})
		if err != nil || in.Source == nil {
			return nil //nolint:nilerr // it is not a source
		}

		text, err := os.ReadFile(path)
		kind := in.Describe().Kind
		// Damaging a compressed file would only test decompression; TestCompressed does that.
		if bytes.HasPrefix(text, []byte("\x1f\x8b")) {
			return err
		}

		// Different code reads the same kind from text and from JSON.
		if first := bytes.TrimSpace(text); bytes.HasPrefix(first, []byte("{")) || bytes.HasPrefix(first, []byte("[")) {
			kind += " as JSON"
		}

		if len(all[kind]) < seedsMax {
			all[kind] = append(all[kind], text)
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	for name, text := range written {
		path := filepath.Join(t.TempDir(), "written")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if ok, err := read(t.Context(), path); !ok {
			t.Fatalf("%s cannot be read even undamaged: %v", name, err)
		}
		all[name] = append(all[name], []byte(text))
	}

	if len(all) < formatsLeast {
		t.Fatalf("only %d formats have files: %q", len(all), slices.Sorted(maps.Keys(all)))
	}

	return all
}

// read reads a file as a command would, into a recording in memory, and reports whether there was
// anything to read.
func read(ctx context.Context, path string) (bool, error) {
	in, err := opener().Open(ctx, path, recognise.OpenOptions{})
	if err != nil {
		return false, err
	}
	if in.Reader != nil {
		return true, in.Reader.Close()
	}

	m := recording.NewMemory(recording.MemoryOptions{})
	err = in.Source.Read(ctx, m, source.Options{Location: time.UTC, Parallel: 1})
	return err == nil, errors.Join(err, m.Close())
}

// mutated reads damaged copies of files in a format. None may cause a panic, take a minute or fail with
// a decoder's message.
func mutated(t *testing.T, seeds [][]byte) {
	r, file := Rand(t), filepath.Join(t.TempDir(), "input")
	read1, worst := 0, time.Duration(0)
	tries := Tries(40, ParserTries)
	for n := range tries {
		input := Mutate(r, seeds[r.IntN(len(seeds))], seeds)
		if err := os.WriteFile(file, input, 0o600); err != nil {
			t.Fatal(err)
		}

		try(t, file, input, n, &read1, &worst)
		if t.Failed() {
			return
		}
	}

	t.Logf("%d tries, %d of them readable; the slowest took %s", tries, read1, worst)
}

// try reads one input, and keeps it if it fails the test.
func try(t *testing.T, file string, input []byte, n int, readable *int, worst *time.Duration) {
	t.Helper()
	done := false
	defer func() {
		if failure := recover(); failure != nil || !done || t.Failed() {
			at := filepath.Join(os.TempDir(), strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())+".input")
			t.Errorf("try %d: %v: the input is in %s (%v)\n%s", n, failure, at, os.WriteFile(at, input, 0o600), debug.Stack())
		}
	}()

	ctx, cancel := context.WithTimeout(t.Context(), Within)
	defer cancel()

	began := time.Now()
	ok, err := read(ctx, file)
	*worst = max(*worst, time.Since(began))
	if ok {
		*readable++
	}

	if ctx.Err() != nil {
		t.Errorf("not read within %s", Within)
	}
	if err != nil {
		if word := Internal(err.Error()); word != "" {
			t.Errorf("the error says %q: %.500s", word, err)
		}
	}

	done = true
}

// TestFormats gives each file reader thousands of damaged files.
func TestFormats(t *testing.T) {
	all := formats(t)
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		t.Run(kind, func(t *testing.T) { mutated(t, all[kind]) })
	}

	if peak := peakMemory(t); peak > MemoryMax {
		t.Errorf("a peak of %d MB of memory", peak>>20)
	}
}

// TestCompressed damages the compression around a format instead of the format.
func TestCompressed(t *testing.T) {
	page := []byte("# TYPE x counter\n" + strings.Repeat("x{a=\"b\"} 1 1790000000000\n", 4000))
	var inGzip bytes.Buffer
	z := gzip.NewWriter(&inGzip)
	if _, err := z.Write(page); err != nil || z.Close() != nil {
		t.Fatal(err)
	}

	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	inZstd := e.EncodeAll(page, nil)

	t.Run("gzip", func(t *testing.T) { mutated(t, [][]byte{inGzip.Bytes()}) })
	t.Run("zstd", func(t *testing.T) { mutated(t, [][]byte{inZstd}) })
}
