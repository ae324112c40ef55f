//go:build linux

package disk

import (
	"container/heap"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/vtime"
)

// A clock measures the time since a host began, and waits.
type clock interface {
	Now() vtime.Instant
	Wait(until vtime.Instant)
	Close()
}

// A sleep in the kernel ends late: on a virtual machine by about 5 us if the CPU is awake, and by
// 30 to 60 us if it has to wake up. The thread measures this delay, requests its wakeup that much earlier,
// and polls the clock for the rest. That takes a few microseconds; polling all the time would take away the
// CPU that the database needs.
const (
	spinMost = 60 * time.Microsecond
	// fraction of a deviation by which the margin grows; it shrinks four times more slowly
	spinStep = 16
)

// early is how much too early a request may be woken, so that requests due together are woken
// together.
const early = 2 * time.Microsecond

// A ticker is the real clock: one thread that wakes all waiters.
type ticker struct {
	start time.Time
	event int // an eventfd that interrupts the thread's sleep

	next atomic.Int64 // the thread sleeps until this instant

	mu     sync.Mutex
	due    waiters
	closed bool
	done   chan struct{}
}

type waiter struct {
	at   vtime.Instant
	wake chan struct{}
}

func newTicker() (*ticker, error) {
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	t := &ticker{start: time.Now(), event: event, done: make(chan struct{})}
	t.next.Store(int64(vtime.Never))
	go t.run()
	return t, nil
}

func (t *ticker) Now() vtime.Instant { return vtime.Instant(time.Since(t.start)) }

// Wait returns at the given instant, or immediately if that has passed.
func (t *ticker) Wait(until vtime.Instant) {
	if until <= t.Now() {
		return
	}

	w := waiter{at: until, wake: wakes.Get().(chan struct{})}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}

	heap.Push(&t.due, w)

	// Only an earlier deadline than the current one has to interrupt the thread's sleep.
	sooner := int64(until) < t.next.Load()
	if sooner {
		t.next.Store(int64(until))
	}

	t.mu.Unlock()
	if sooner {
		t.poke()
	}

	<-w.wake
	wakes.Put(w.wake)
}

var wakes = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

func (t *ticker) poke() {
	one := [8]byte{1}
	_, _ = unix.Write(t.event, one[:]) // EAGAIN: already set
}

// Close wakes all waiters and ends the thread.
func (t *ticker) Close() {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	t.closed = true
	for _, w := range t.due {
		w.wake <- struct{}{}
	}
	t.due = nil
	t.mu.Unlock()
	t.poke()
	<-t.done
	_ = unix.Close(t.event)
}

func (t *ticker) run() {
	runtime.LockOSThread() // never unlocked, so the thread with its changed priority ends with the goroutine
	defer close(t.done)
	punctual()
	fds := []unix.PollFd{{Fd: int32(t.event), Events: unix.POLLIN}}
	var drain [8]byte

	margin := spinMost / 2
	for {
		now, next, ok := t.fire()
		if !ok {
			return
		}

		// Close to the deadline, poll; a sleep would end too late. A new, earlier waiter lowers
		// t.next and thereby ends the loop.
		left := next.Sub(now)
		if left <= margin {
			for t.Now().Add(early) < vtime.Instant(t.next.Load()) {
				continue // keep polling
			}
			continue
		}

		var timeout *unix.Timespec
		if next < vtime.Never {
			ts := unix.NsecToTimespec(int64(left - margin))
			timeout = &ts
		}

		// Only undisturbed sleeps show how late the kernel wakes the thread.
		if n, err := unix.Ppoll(fds, timeout, nil); n > 0 {
			_, _ = unix.Read(t.event, drain[:])
		} else if err == nil {
			margin = learn(margin, t.Now().Sub(next.Add(-margin)))
		}
	}
}

// learn adjusts the margin after a sleep that ended late. Being late costs accuracy and polling
// only costs CPU time, so the margin grows faster than it shrinks.
func learn(margin, late time.Duration) time.Duration {
	step := (late - margin) / spinStep
	if step < 0 {
		step /= 4
	}
	return min(max(margin+step, early), spinMost)
}

// punctual makes the thread wake up on time even if all CPUs are busy. A database on the same
// machine keeps them busy, but a real disk does not wait for a CPU. Without the privileges, the
// thread is as late as any other.
func punctual() {
	// By default, a thread's timers may be late by a slack of 50 us.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: 2,
	}, 0)
}

// fire wakes the waiters that are due and returns the instant at which the next one is due; ok is false once
// the clock is closed.
func (t *ticker) fire() (now, next vtime.Instant, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now = t.Now()
	for len(t.due) > 0 && t.due[0].at <= now.Add(early) {
		heap.Pop(&t.due).(waiter).wake <- struct{}{}
	}
	next = vtime.Never
	if len(t.due) > 0 {
		next = t.due[0].at
	}
	t.next.Store(int64(next))
	return now, next, !t.closed
}

// waiters is a heap by instant.
type waiters []waiter

func (w waiters) Len() int           { return len(w) }
func (w waiters) Less(i, k int) bool { return w[i].at < w[k].at }
func (w waiters) Swap(i, k int)      { w[i], w[k] = w[k], w[i] }
func (w *waiters) Push(x any)        { *w = append(*w, x.(waiter)) }
func (w *waiters) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}
