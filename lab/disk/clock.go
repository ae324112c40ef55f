package disk

import (
	"container/heap"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/vtime"
)

// A clock tells the time since a host began, and waits.
type clock interface {
	Now() vtime.Instant
	Wait(until vtime.Instant)
	Close()
}

// spin is for how long before an instant the thread looks at the clock instead of sleeping: a sleep in the kernel
// ends some 30 to 60 us late on a virtual machine. It takes a share of a core only while requests end one
// by one; on two cores a longer one is felt.
const spin = 50 * time.Microsecond

// A ticker is the real clock: one thread that wakes everyone.
type ticker struct {
	start time.Time
	event int // an eventfd that ends the thread's sleep

	mu     sync.Mutex
	due    waiters
	next   vtime.Instant // what the thread sleeps towards
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
	t := &ticker{start: time.Now(), event: event, next: vtime.Never, done: make(chan struct{})}
	go t.run()
	return t, nil
}

func (t *ticker) Now() vtime.Instant { return vtime.Instant(time.Since(t.start)) }

// Wait returns at the given instant, or at once if it is past.
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
	sooner := until < t.next
	if sooner {
		t.next = until
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
	_, _ = unix.Write(t.event, one[:]) // EAGAIN: it is set already
}

// Close wakes everybody and ends the thread.
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
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	defer close(t.done)
	// Timers of a thread may be late by its slack, 50 us unless told.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	fds := []unix.PollFd{{Fd: int32(t.event), Events: unix.POLLIN}}
	var drain [8]byte
	for {
		left, ok := t.fire()
		if !ok {
			return
		}
		if left <= spin {
			continue
		}
		var timeout *unix.Timespec
		if left < time.Duration(vtime.Never) {
			ts := unix.NsecToTimespec(int64(left - spin))
			timeout = &ts
		}
		if n, _ := unix.Ppoll(fds, timeout, nil); n > 0 {
			_, _ = unix.Read(t.event, drain[:])
		}
	}
}

// fire wakes whom it is time for, and tells how long it is until the next; false at the end.
func (t *ticker) fire() (left time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Now()
	for len(t.due) > 0 && t.due[0].at <= now {
		heap.Pop(&t.due).(waiter).wake <- struct{}{}
	}
	t.next = vtime.Never
	if len(t.due) > 0 {
		t.next = t.due[0].at
	}
	if t.next == vtime.Never {
		return time.Duration(vtime.Never), !t.closed
	}
	return t.next.Sub(now), !t.closed
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
