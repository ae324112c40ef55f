//go:build linux

package loadgen

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/vtime"
)

// A clock provides the time of a run. Tests replace it.
type clock interface {
	Now() vtime.Instant
	// Wait returns at an instant, or when the context ends.
	Wait(ctx context.Context, until vtime.Instant)
	// Punctual makes the calling goroutine's wakeups as precise as possible for the rest of its
	// life.
	Punctual()
}

// A monotonic clock counts from its creation.
type monotonic struct{ start time.Time }

func (m monotonic) Now() vtime.Instant { return vtime.Instant(time.Since(m.start)) }

// coarse is how long before its deadline a wait switches from the runtime's timers to a sleep in
// the kernel. The timers are up to 1.15 ms late in an idle program (measured, Go 1.26, Linux 6.18);
// the sleep occupies a thread.
const coarse = 3 * time.Millisecond

// sleepers bounds the threads that sleep in the kernel. Waits beyond that are as late as the
// runtime's timers.
var sleepers = make(chan struct{}, 256)

func (m monotonic) Wait(ctx context.Context, until vtime.Instant) {
	if left := until.Sub(m.Now()) - coarse; left > 0 && !rest(ctx, left) || until <= m.Now() {
		return
	}
	select {
	case sleepers <- struct{}{}:
		defer func() { <-sleepers }()
	default:
		rest(ctx, until.Sub(m.Now()))
		return
	}
	for left := until.Sub(m.Now()); left > 0; left = until.Sub(m.Now()) {
		ts := unix.NsecToTimespec(int64(left))
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil) // interrupted: check again
	}
}

// rest waits with the runtime's timers; it returns false if the context ended.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (m monotonic) Punctual() {
	runtime.LockOSThread() // never unlocked, so the thread with its changed priority ends with the goroutine
	// By default, a thread's timers may be late by a slack of 50 us.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	// The database under test keeps the CPUs busy, whereas its real clients would run on other
	// machines. Without the privilege, the thread is as late as any other.
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: 1,
	}, 0)
}
