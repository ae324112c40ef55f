//go:build linux

package probe

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// wakersProgram notes who ends a wait, and when.
const wakersProgram = "waking"

// wakersFor is how long the program stays after a call lasted.
const wakersFor = 2 * time.Second

// spans is the number of elements that the programs count calls in: their SPANS.
const spans = 2048

// wakers attaches the program that sees threads being woken up while calls wait for long. The kernel
// wakes tens of thousands of threads a second, and even an empty program costs a tenth of a microsecond
// each time; who ended a wait explains only those that last. The programs wake this process up as soon as
// one does.
type wakers struct {
	program         *ebpf.Program
	progress, began *ebpf.Variable // of the programs: calls under way, in all and by when they began
	// of the programs: when a call had lasted last, as it ended or a wait of it did
	last    *ebpf.Variable
	watched *ebpf.Variable // says to them that this one is attached
	shift   int            // of a time to its element of began
	slow    time.Duration  // a call that takes less is counted only

	mu      sync.Mutex
	link    link.Link // nil: it is detached
	allowed bool
	needed  int64 // when a call lasted last
	paused  int64 // when all programs were detached
}

// look attaches the program if a call lasted a moment ago, by [wakers.lasted], and detaches it if
// none did for a while.
func (w *wakers) look(now, lasted int64) error {
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
		return w.tell(1)
	case !on && w.link != nil:
		w.detach()
		return w.tell(0)
	}

	return nil
}

// tell says to the programs whether the program is attached. (What they know is forgotten when they are
// attached again.)
func (w *wakers) tell(attached uint8) error {
	if err := w.watched.Set(attached); err != nil {
		return fmt.Errorf("trace: telling the programs of sched_waking: %w", err)
	}
	return nil
}

// lasted is when a call was under way last that had taken half of what makes it slow: now, or as it
// ended or one of its waits did; 0 if there was none. Calls that were under way as the programs
// were detached do not last.
func (w *wakers) lasted(now int64) int64 {
	w.mu.Lock()
	allowed := w.allowed
	w.mu.Unlock()

	if !allowed {
		return 0
	}

	// What is read may be of two moments. A call that lasts does so at all of them.
	const readings = 3
	for range readings {
		var before, all uint32
		var began [spans]uint32
		if err := errors.Join(w.progress.Get(&before), w.began.Get(&began), w.progress.Get(&all)); err != nil {
			return now // it is not known
		}
		if w.old(now, min(before, all), &began) {
			continue
		}

		var last int64 // read now: if one has just ended, it is here
		if err := w.last.Get(&last); err != nil {
			return now
		}

		return last
	}

	return now
}

// old reports whether of all calls under way some began half of a slow call's time ago, or before.
func (w *wakers) old(now int64, all uint32, began *[spans]uint32) bool {
	var young uint32
	for at := (now - w.slow.Nanoseconds()/2) >> w.shift; at <= now>>w.shift; at++ {
		young += began[at&(spans-1)]
	}
	return all > young
}

// allow says whether the program may be attached: while the others are. The time between does not count.
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
	return w.look(now, 0)
}

func (w *wakers) detach() {
	if w.link != nil {
		_ = w.link.Close() // the program goes with the process at the latest
		w.link = nil
	}
}
