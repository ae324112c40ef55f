//go:build linux

package probe

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"plimsoll/internal/trace/events"
)

// wakersProgram notes who ends a wait, and when.
const wakersProgram = "waking"

// wakersFor is how long the program stays after the last long wait.
const wakersFor = 5 * time.Second

// spans is the number of elements that the programs count calls in: their SPANS.
const spans = 1024

// wakers attaches the program that sees threads being woken up while calls wait for long. The kernel
// wakes tens of thousands of threads a second, and even an empty program costs a tenth of a microsecond
// each time; who ended a wait explains only those that last. The programs wake this process up as soon as
// one does.
type wakers struct {
	program         *ebpf.Program
	progress, began *ebpf.Variable // of the programs: calls under way, in all and by when they began
	watched         *ebpf.Variable // says to them that this one is attached
	shift           int            // of a time to its element of began
	slow            time.Duration  // a call that takes less is counted only

	mu      sync.Mutex
	link    link.Link // nil: it is detached
	allowed bool
	needed  int64 // when there was a long wait last
	paused  bool  // it was attached as all programs were detached
}

// wants reports whether a call waited for long, and not for a processor: half of what makes it slow.
func (w *wakers) wants(all []events.Wait) bool {
	return slices.ContainsFunc(all, func(x events.Wait) bool {
		return !x.Kernel && !x.Preempted && x.In-x.Out >= w.slow.Nanoseconds()/2
	})
}

// look attaches the program if it is wanted or a call has waited until now for long, and detaches it if
// neither was so for a while.
func (w *wakers) look(now int64, wanted bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.allowed {
		return nil
	}
	if wanted || w.lasts(now) {
		w.needed = now
	}
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

// lasts reports whether a call is under way that has taken half of what makes it slow: the programs'
// urgency.
func (w *wakers) lasts(now int64) bool {
	var all uint32
	if err := w.progress.Get(&all); err != nil || all == 0 {
		return err != nil // it is not known
	}
	var began [spans]uint32
	if err := w.began.Get(&began); err != nil {
		return true
	}
	return w.old(now, all, &began)
}

// old reports whether of all calls under way some began half of a slow call's time ago, or before.
func (w *wakers) old(now int64, all uint32, began *[spans]uint32) bool {
	var young uint32
	for at := (now - w.slow.Nanoseconds()/2) >> w.shift; at <= now>>w.shift; at++ {
		young += began[at&(spans-1)]
	}
	return all > young
}

// allow says whether the program may be attached: while the others are.
func (w *wakers) allow(yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.allowed = yes
	if !yes {
		w.paused = w.link != nil
		w.detach()
	}
}

// resume attaches the program again, if it was when all were detached.
func (w *wakers) resume(now int64) error { return w.look(now, w.paused) }

func (w *wakers) detach() {
	if w.link != nil {
		_ = w.link.Close() // the program goes with the process at the latest
		w.link = nil
	}
}
