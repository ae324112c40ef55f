//go:build linux

package loadgen

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A virtual machine is paused now and then: the hypervisor gives its cores to something else for
// milliseconds and does not report it. Everything that waits then waits longer, which is not the
// database's latency. One thread per core, with the highest priority, asks to be woken every
// millisecond; if it is woken late, nothing ran on that core. (Gil Tene's jHiccup finds pauses of a
// Java machine this way.)
const (
	pauseTick  = time.Millisecond
	pauseLeast = 500 * time.Microsecond // lateness from which on it is a pause
	pausesMax  = 1 << 20                // kept at most: more than the milliseconds in a quarter of an hour
)

// Pauses says how long this machine was paused in the measured time.
type Pauses struct {
	Count   int
	Total   units.Duration // counted once, however many cores were paused
	Longest units.Duration
	// Aside are operations whose latency was at least half pauses: they count as done, without a
	// latency.
	Aside int64
}

// A pause is that of one core, in the workload's time.
type pause struct{ from, to vtime.Instant }

// A pauseMeter looks for pauses during a Run.
type pauseMeter struct {
	mu   sync.Mutex
	all  []pause
	stop chan struct{}
	done sync.WaitGroup
}

// start begins measuring on every core. now returns the workload's time.
func (m *pauseMeter) start(now func() vtime.Instant) {
	m.stop = make(chan struct{})
	for cpu := range runtime.NumCPU() {
		m.done.Go(func() { m.look(cpu, m.stop, now) })
	}
}

func (m *pauseMeter) end() {
	close(m.stop)
	m.done.Wait()
}

func (m *pauseMeter) look(cpu int, stop <-chan struct{}, now func() vtime.Instant) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	var only unix.CPUSet
	only.Set(cpu)

	if unix.SchedSetaffinity(0, &only) != nil {
		return // a core that this process may not use
	}

	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)

	// Without the privilege the thread waits for others, which is not a pause.
	if unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: 3,
	}, 0) != nil {
		return
	}

	ts := unix.NsecToTimespec(int64(pauseTick))
	for {
		select {
		case <-stop:
			return
		default:
		}

		due := now().Add(pauseTick)
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil) // interrupted: check again
		if at := now(); at.Sub(due) >= pauseLeast {
			m.mu.Lock()
			if len(m.all) < pausesMax {
				m.all = append(m.all, pause{due, at})
			}
			m.mu.Unlock()
		}
	}
}

// apply sets operations aside, and returns the pauses from an instant on.
func (m *pauseMeter) apply(ops []latency.Operation, from vtime.Instant) Pauses {
	m.mu.Lock()
	all := joined(m.all)
	m.mu.Unlock()

	var p Pauses
	for _, x := range all {
		if x.from < from {
			continue
		}
		p.Count++
		p.Total += units.Duration(x.to - x.from)
		p.Longest = max(p.Longest, units.Duration(x.to-x.from))
	}

	for i := range ops {
		o := &ops[i]
		end := o.At + vtime.Instant(o.Took)
		if o.Aside = 2*paused(all, o.At, end) >= vtime.Instant(o.Took) && o.Took > 0; o.Aside && o.At >= from {
			p.Aside++
		}
	}

	return p
}

// joined merges the pauses of all cores, in order and without overlaps.
func joined(all []pause) []pause {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b pause) int { return int(a.from - b.from) })
	var out []pause
	for _, p := range sorted {
		if n := len(out); n > 0 && p.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, p.to)
			continue
		}
		out = append(out, p)
	}
	return out
}

// paused returns how much of a span the machine was paused. all is in order.
func paused(all []pause, from, to vtime.Instant) (sum vtime.Instant) {
	first, _ := slices.BinarySearchFunc(all, from, func(p pause, t vtime.Instant) int { return int(p.to - t) })
	for _, p := range all[first:] {
		if p.from >= to {
			break
		}
		sum += max(min(p.to, to)-max(p.from, from), 0)
	}
	return sum
}
