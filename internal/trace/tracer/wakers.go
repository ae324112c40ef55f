//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// wakersProgram records which thread ends a wait, and when.
const wakersProgram = "waking"

// wakersFor is how long the program remains attached after the last slow call.
const wakersFor = 2 * time.Second

// spans is the number of elements in which the programs count calls by age: their SPANS.
const spans = 2048

// wakers attaches the program that traces wakeups, only while calls wait for long. The kernel wakes
// tens of thousands of threads a second, even an empty program costs 0.1 µs each time, and the
// waker only matters for long waits. The other programs wake this process as soon as there is one.
type wakers struct {
	program         *ebpf.Program
	progress, began *ebpf.Variable // set by the programs: calls in progress, in total and by start time
	// set by the programs: when a call that had lasted long, or one of its waits, last ended
	last    *ebpf.Variable
	watched *ebpf.Variable // notifies the other programs that this one is attached
	shift   int            // converts a time to its element of began
	slow    time.Duration  // faster calls are only counted

	mu      sync.Mutex
	link    link.Link // nil: detached
	allowed bool
	needed  int64 // when a call was last slow
	paused  int64 // when all programs were detached
}

// update attaches the program if a call lasted a moment ago, according to [wakers.lasted], and
// detaches it if none has for a while.
func (w *wakers) update(now, lasted int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.allowed {
		return nil
	}

	w.needed = max(w.needed, lasted)
	switch on := w.needed != 0 && now-w.needed < wakersFor.Nanoseconds(); {
	case on && w.link == nil:
		l, err := link.AttachTracing(link.TracingOptions{Program: w.program})
		if err != nil {
			return refused("attach to sched_waking", err)
		}
		w.link = l
		return w.setWatched(1)
	case !on && w.link != nil:
		w.detach()
		return w.setWatched(0)
	}

	return nil
}

// setWatched informs the other programs whether the program is attached. (They forget this when
// they are reattached.)
func (w *wakers) setWatched(attached uint8) error {
	if err := w.watched.Set(attached); err != nil {
		return fmt.Errorf("trace: cannot notify the programs of sched_waking: %w", err)
	}
	return nil
}

// lasted returns when a call last had taken half the threshold: now if one is in progress,
// otherwise the time at which such a call or one of its waits ended; 0 if there was none. Calls in
// progress when the programs were detached do not count.
func (w *wakers) lasted(now int64) int64 {
	w.mu.Lock()
	allowed := w.allowed
	w.mu.Unlock()

	if !allowed {
		return 0
	}

	// The variables are read one by one, so they may be inconsistent. A call that really lasts
	// shows in all readings.
	const readings = 3
	for range readings {
		var before, all uint32
		var began [spans]uint32
		if err := errors.Join(w.progress.Get(&before), w.began.Get(&began), w.progress.Get(&all)); err != nil {
			return now // unknown: assume that one lasts
		}
		if w.old(now, min(before, all), &began) {
			continue
		}

		var last int64 // read after progress, so that a call that has just ended is not missed
		if err := w.last.Get(&last); err != nil {
			return now
		}

		return last
	}

	return now
}

// old reports whether any of the calls in progress began at least half the threshold ago.
func (w *wakers) old(now int64, all uint32, began *[spans]uint32) bool {
	var young uint32
	for at := (now - w.slow.Nanoseconds()/2) >> w.shift; at <= now>>w.shift; at++ {
		young += began[at&(spans-1)]
	}
	// Comparing counts avoids reading the start time of every call.
	return all > young
}

// allow says whether the program may be attached, which is the case while the others are. The time
// in between does not count toward wakersFor.
func (w *wakers) allow(now int64, yes bool) error {
	w.mu.Lock()
	w.allowed = yes
	switch {
	case !yes:
		w.paused = now
		w.detach()
	case w.paused != 0 && w.needed != 0:
		w.needed += now - w.paused
	}
	w.mu.Unlock()
	return w.update(now, 0)
}

func (w *wakers) detach() {
	if w.link != nil {
		_ = w.link.Close() // the kernel removes it at the latest when the process exits
		w.link = nil
	}
}
