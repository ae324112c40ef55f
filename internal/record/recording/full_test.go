//go:build linux

package recording

import (
	"errors"
	"math"
	"math/rand/v2"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// limitFiles makes writes beyond size bytes of a file fail in the middle, like a full disk does.
// The returned function removes the limit.
func limitFiles(t *testing.T, size uint64) func() {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Skipf("no limit on file sizes here: %v", err)
	}

	signal.Ignore(syscall.SIGXFSZ)
	set := func(soft uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: soft, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
	}

	set(size)
	return func() {
		set(before.Cur)
		signal.Reset(syscall.SIGXFSZ)
	}
}

// If writes fail in the middle and succeed later, everything that was appended without an error is
// in the log and in the block.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{})
	unlimit := limitFiles(t, 400_123)
	const perBatch = 2 * recordSamples // records longer than a page of the log
	rng := rand.New(rand.NewPCG(1, 2))
	want := map[int64]float64{}

	failed := 0
	for k := 0; k < 20; k++ {
		b := Batch{Columns: []Column{{Labels: named("k")}}}
		for i := range perBatch {
			b.TimesMs = append(b.TimesMs, second(float64(perBatch*k+i)).UnixMilli())
			b.Columns[0].Values = append(b.Columns[0].Values, rng.Float64())
		}

		if err := d.Append(t.Context(), &b); err != nil {
			if !errors.Is(err, syscall.EFBIG) {
				t.Errorf("error %v", err)
			}
			if failed++; failed == 3 {
				unlimit()
			}
			continue // this batch is dropped
		}

		for i, ms := range b.TimesMs {
			want[ms] = b.Columns[0].Values[i]
		}
	}

	if failed < 3 {
		unlimit()
		t.Fatalf("only %d writes failed", failed)
	}

	check := func() {
		t.Helper()
		r := mustOpen(t, dir)
		defer mustClose(t, r)

		out, err := r.Samples(t.Context(), "k", t0, t0.Add(math.MaxInt32*time.Second))
		if err != nil {
			t.Fatal(err)
		}

		got := map[int64]float64{}
		for _, p := range one(t, out) {
			got[p.T] = p.F
		}

		for ms, v := range want {
			if g, ok := got[ms]; !ok || g != v {
				t.Fatalf("at %d ms: %g (%v), want %g", ms, g, ok, v)
			}
		}
	}

	check()
	mustClose(t, d)
	check()
}
