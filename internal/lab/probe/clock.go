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

// slice is how long a wait sleeps before it checks whether the context has ended.
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

// punctual gives the calling goroutine a thread of its own that wakes up on time, until it ends.
func punctual() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	// Timers of a thread may be late by its slack, 50 us by default.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}
