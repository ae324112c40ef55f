//go:build linux

package trace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/trace"
	"plimsoll/internal/trace/events"
	"plimsoll/internal/trace/target"
)

// alikeCalls is the number of times that each call is repeated with the same arguments.
const alikeCalls = 6

// A timed is a call as measured by the program that made it.
type timed struct {
	kind events.Kind
	took time.Duration
}

type timedCall struct {
	kind events.Kind
	call func() error
}

// Consecutive identical calls by one thread are separate calls, and last as long as the program
// measured, although they are seen only when the thread is descheduled in them.
func TestAlike(t *testing.T) {
	for _, fs := range []string{"ext4", "xfs"} {
		t.Run(fs, func(t *testing.T) {
			e := emulate(t, fs, 0)
			before := len(e.volume.answers())
			directly(t, e)
			until(t, "the neighbour does not write", func() bool { return len(e.volume.answers()) > before+200 })
			const slower = 500 * time.Microsecond // the volume takes 1 ms for a request
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var once sync.Once
			begin, made := make(chan struct{}), make(chan []timed, 1)
			tid, failed := 0, error(nil)
			go func() {
				runtime.LockOSThread() // the thread ends with this function, which ends its last call
				<-begin
				tid = unix.Gettid()
				var all []timed
				all, failed = alike(filepath.Join(e.dir, "alike"))
				made <- all
			}()

			var own []timed
			r, err := trace.Run(ctx, trace.Options{Target: target.Choice{PID: os.Getpid()}, For: tracedMost, Slower: slower, Keep: true,
				Progress: func(float64, int, time.Duration) {
					once.Do(func() { close(begin) })
					select {
					case own = <-made:
						time.AfterFunc(time.Second, cancel) // the last call's thread ends first
					default:
					}
				}})
			if err != nil || failed != nil || own == nil {
				t.Fatal(err, failed, len(own))
			}

			if n := r.Report.Header.Totals.Lost; n > 0 {
				t.Errorf("%d events were lost", n)
			}

			compareAlike(t, own, r.Events.Calls, uint32(tid), slower)
		})
	}
}

// alike makes each call several times, back to back unless a call needs preparation.
func alike(path string) (all []timed, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}

	defer f.Close()
	const size = 16 << 10
	if err := errors.Join(f.Truncate(1<<20), f.Sync()); err != nil {
		return nil, err
	}

	direct, err := os.OpenFile(path, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		return nil, err
	}

	defer direct.Close()
	private, err1 := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE) // aligned
	shared, err2 := unix.Mmap(int(f.Fd()), size, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)

	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}

	defer func() { err = errors.Join(err, unix.Munmap(private), unix.Munmap(shared)) }()
	const whole = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER

	dirty := timedCall{events.Write, func() error { _, err := unix.Pwrite(int(f.Fd()), private, 0); return err }}
	for _, calls := range [][]timedCall{
		{dirty, {events.Fdatasync, func() error { return unix.Fdatasync(int(f.Fd())) }}},
		{dirty, {events.SyncFileRange, func() error { return unix.SyncFileRange(int(f.Fd()), 0, size, whole) }}},
		{{events.Other, func() error { shared[0]++; return nil }}, {events.Msync, func() error { return unix.Msync(shared, unix.MS_SYNC) }}},
		{{events.Write, func() error { _, err := unix.Pwrite(int(direct.Fd()), private, 0); return err }}},
		{{events.Read, func() error { _, err := unix.Pread(int(direct.Fd()), private, 0); return err }}},
	} {
		for range alikeCalls {
			for _, x := range calls {
				began := time.Now()
				if err := x.call(); err != nil {
					return nil, err
				}
				all = append(all, timed{x.kind, time.Since(began)})
			}
		}
	}

	return all, nil
}

// compareAlike checks the number and duration of each kind's slow calls against what the program
// measured. The trace omits the CPU time at their beginning and end.
func compareAlike(t testing.TB, own []timed, all []events.Call, tid uint32, slower time.Duration) {
	t.Helper()
	for kind := events.Other + 1; kind < events.Kinds; kind++ {
		var least, most int
		var made, seen time.Duration
		for _, x := range own {
			if x.kind == kind && x.took >= slower {
				most++
				made += x.took
				if x.took >= 2*slower {
					least++
				}
			}
		}

		n := 0
		for i := range all {
			if c := &all[i]; c.TID == tid && c.Kind == kind {
				n++
				seen += time.Duration(c.Exit - c.Enter)
			}
		}

		if most == 0 {
			continue
		}

		t.Logf("%v: %d of %d calls, %v of %v", kind, n, most, seen, made)
		if kind != events.Read && most < alikeCalls/2 {
			t.Errorf("%v: only %d calls were slow", kind, most)
		}

		if n < least || n > most || seen > made || seen < made/2 {
			t.Errorf("%v: %d slow calls, %v in all, want %d to %d, %v", kind, n, seen, least, most, made)
		}
	}
}
