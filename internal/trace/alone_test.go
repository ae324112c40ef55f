//go:build linux

package trace_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/trace/target"
)

// An alone is a thread that writes and syncs in a loop, with nothing else running: it shows what a
// trace adds to the latency of a single sync.
type alone struct {
	file    *os.File
	appends bool
	at      int64
	last    []time.Duration // latencies of the last run, in order
}

// syncs returns such a load. When appending, each sync includes a commit of the file system's
// journal; otherwise none does.
func syncs(appends bool) func(testing.TB, string) runner {
	return func(t testing.TB, dir string) runner {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, "synced"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() }) // the volume is removed
		return &alone{file: f, appends: appends}
	}
}

func (a *alone) target() target.Choice { return target.Choice{Path: filepath.Dir(a.file.Name())} }

// lasts implements runner.
func (*alone) lasts() time.Duration { return 300 * time.Millisecond }

// took returns the latencies of the last run. A sync has two speeds and keeps to one for a while,
// presumably depending on whether the disk's worker runs on the same CPU. The lower quantiles are
// therefore the most useful.
func (a *alone) took() map[string]latencies {
	return map[string]latencies{"syncs": latenciesOf(a.last)}
}

func (a *alone) run(t testing.TB, lasts time.Duration) (float64, time.Duration) {
	t.Helper()
	const page, pages, line = 4096, 256, 512
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	memory := make([]byte, page)
	fd := int(a.file.Fd())

	var all []time.Duration
	for until := time.Now().Add(lasts); ; {
		began := time.Now()
		if began.After(until) {
			slices.Sort(all)
			a.last = all
			return float64(len(all)), all[len(all)*99/100]
		}

		at, size := a.at%pages*page, page
		if a.appends {
			at, size = a.at*line, line
		}

		a.at++
		_, err := unix.Pwrite(fd, memory[:size], at)
		if err == nil {
			err = unix.Fdatasync(fd)
		}

		if err != nil {
			t.Fatal(err)
		}

		all = append(all, time.Since(began))
	}
}
