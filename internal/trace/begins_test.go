//go:build linux

package trace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/trace/events"
	"plimsoll/internal/trace/tracer"
)

// A request begins within the call that made it, although the kernel's structure may still hold the
// time of an earlier use: until a request with a flush is queued, and always if I/O accounting is
// off.
func TestRequestsBegin(t *testing.T) {
	if err := tracer.Available(); err != nil {
		t.Skip(err)
	}
	for name, counted := range map[string]string{"counted": "1", "not counted": "0"} {
		t.Run(name, func(t *testing.T) {
			dir := inMemory(t)
			var st unix.Stat_t
			if err := unix.Stat(dir, &st); err != nil {
				t.Fatal(err)
			}

			major, minor := unix.Major(st.Dev), unix.Minor(st.Dev)

			// An earlier user of the device may have left it without a volatile cache; such a device is
			// never flushed.
			queue := fmt.Sprintf("/sys/dev/block/%d:%d/queue/", major, minor)
			set(t, queue+"write_cache", "write back")
			set(t, queue+"iostats", counted)

			p, err := tracer.Start(tracer.Config{Slower: 1, All: true}) // pass on all requests
			if err != nil {
				t.Fatal(err)
			}

			t.Cleanup(func() { _ = p.Close() }) // the kernel does the same when the process exits
			dev := major<<20 | minor
			if err := p.Watch([]uint32{uint32(os.Getpid())}, []uint32{dev}, []uint32{dev}); err != nil {
				t.Fatal(err)
			}

			calls := apart(t, dir)
			data, flushes := 0, 0
			for _, r := range own(t, p, len(calls)) {
				for _, c := range calls {
					if r.Done < c[0] || r.Done > c[1] {
						continue
					}
					if r.Begin() < c[0] {
						t.Errorf("a request of %d bytes (flags %#x) began %v before the call that made it", r.Bytes, r.Flags, time.Duration(c[0]-r.Begin()))
					}
					if r.Bytes > 0 {
						data++
					} else {
						flushes++
					}
				}
			}

			if data < len(calls)/2 || flushes < len(calls)/2 { // the flusher may have written some of the pages
				t.Errorf("%d requests with data and %d flushes of %d syncs", data, flushes, len(calls))
			}
		})
	}
}

// set changes a device setting until the test ends; the device would keep it.
func set(t testing.TB, file, value string) {
	t.Helper()
	before, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(value), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(file, before, 0o644); err != nil {
			t.Error(err)
		}
	})
}

// apart repeatedly syncs a page of a file with pauses in between, and returns when each sync began
// and ended.
func apart(t testing.TB, dir string) (calls [][2]int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "synced"))
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	for i := range 50 {
		began := tracer.Clock()
		if _, err := f.WriteAt(make([]byte, 4096), 0); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			t.Fatal(err)
		}
		if i > 0 { // the first one creates the file, which takes a journal commit
			calls = append(calls, [2]int64{began, tracer.Clock()})
		}
		time.Sleep(5 * time.Millisecond)
	}

	return calls
}

// own returns at least n of this process's requests.
func own(t testing.TB, p *tracer.Tracer, n int) (all []events.Request) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	if err := p.Run(ctx, func(b *events.Batch) {
		for _, r := range b.Requests {
			if r.PID == uint32(os.Getpid()) {
				all = append(all, r)
			}
		}
		if len(all) >= n {
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}

	return all
}
