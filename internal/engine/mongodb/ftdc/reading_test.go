package ftdc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

func TestProgress(t *testing.T) {
	path := syntheticFolder(t, 200, 3, 3)
	_, size := survey(t, path)
	var last int64
	read(t, path, source.Options{Parallel: 2, Progress: func(done, total int64) {
		if done < last || total != size || done > total {
			t.Errorf("%d of %d bytes after %d; the files have %d", done, total, last, size)
		}
		last = done
	}})
	if last != size {
		t.Errorf("%d bytes at the end, want %d", last, size)
	}
}

// Cancelling the context ends a read, wherever it waits.
func TestCancel(t *testing.T) {
	path := syntheticFolder(t, 200, 1, 4)
	for _, parallel := range []int{1, 4} {
		src, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(context.Background())
		w := &stopper{cancel: cancel}
		if err := src.Read(ctx, w, source.Options{Parallel: parallel}); !errors.Is(err, context.Canceled) {
			t.Errorf("parallel %d: error %v", parallel, err)
		}

		// A writer's error ends the reading too, and is returned.
		if err := src.Read(context.Background(), &stopper{err: io.ErrShortWrite}, source.Options{Parallel: parallel}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("parallel %d: error %v", parallel, err)
		}
	}
}

// Memory does not grow with the capture: a hundred files take as much as two.
func TestMemory(t *testing.T) {
	const growthMax = 32 << 20
	dir := syntheticFolder(t, 1500, 2, 2)
	files, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}

	for i := range 100 {
		if err := os.Symlink(files[i%2], fmt.Sprintf("%s/metrics.9%02d", dir, i)); err != nil {
			t.Fatal(err)
		}
	}

	src, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	w := &weigher{}

	// Each file has the same samples, so only the first file's are passed on; progress covers all.
	err = src.Read(context.Background(), w, source.Options{Parallel: 2, Progress: func(int64, int64) { w.weigh() }})
	if err != nil {
		t.Fatal(err)
	}

	if w.calls < 10 || w.peak > before+growthMax {
		t.Errorf("heap grew from %d to %d bytes in %d measurements, want at most %d more", before, w.peak, w.calls, growthMax)
	}
}

type weigher struct {
	drain
	peak  uint64
	calls int
}

func (w *weigher) weigh() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.peak = max(w.peak, m.HeapAlloc)
	w.calls++
}

type stopper struct {
	drain
	cancel func()
	err    error
}

func (s *stopper) Append(context.Context, *recording.Batch) error {
	if s.cancel != nil {
		s.cancel()
	}
	return s.err
}
