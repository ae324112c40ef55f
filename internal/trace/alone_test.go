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

// An alone is a thread that writes and syncs, again and again, with nothing beside it: what a trace adds to
// the way of one sync.
type alone struct {
	file    *os.File
	appends bool
	at      int64
	last    []time.Duration // latencies of the last run, in order
}

// syncs is such a load. Appending, each sync has a commit of the file system's journal; otherwise none.
func syncs(appends bool) func(*testing.T, string) runner {
	return func(t *testing.T, dir string) runner {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, "synced"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() }) // the volume goes
		return &alone{file: f, appends: appends}
	}
}

func (a *alone) target() target.Choice { return target.Choice{Path: filepath.Dir(a.file.Name())} }

// lasts implements runner.
func (*alone) lasts() time.Duration { return 300 * time.Millisecond }

// took are the latencies of the last run. A sync has two speeds, and keeps one for a while: presumably the
// disk's worker runs on the same processor or on another one. So the lower quantiles tell most.
func (a *alone) took() map[string]latencies {
	return map[string]latencies{"syncs": latenciesOf(a.last)}
}

func (a *alone) run(t *testing.T, lasts time.Duration) (float64, time.Duration) {
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
