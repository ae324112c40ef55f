//go:build linux

package probe

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A clock counts nanoseconds from its creation.
type clock struct{ start time.Time }

func (c clock) now() int64 { return int64(time.Since(c.start)) }

// slice is the maximum sleep before a wait checks whether the context has ended.
const slice = 50 * time.Millisecond

// wait sleeps in the kernel until an instant, because the runtime's timers may be 1.15 ms late in
// an idle program (measured, Go 1.26, Linux 6.18). It returns false if the context ended.
func (c clock) wait(ctx context.Context, until int64) bool {
	for left := until - c.now(); left > 0; left = until - c.now() {
		if ctx.Err() != nil {
			return false
		}
		ts := unix.NsecToTimespec(min(left, int64(slice)))
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil) // interrupted: check again
	}
	return ctx.Err() == nil
}

// punctual gives the calling goroutine a dedicated thread that wakes up on time, for the rest of
// its life.
func punctual() {
	runtime.LockOSThread() // never unlocked, so the thread with its changed slack ends with the goroutine
	// By default, a thread's timers may be late by a slack of 50 us.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}
