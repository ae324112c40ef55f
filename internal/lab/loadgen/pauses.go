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

// Virtual machines are sometimes paused: the hypervisor gives their CPUs to something else for
// milliseconds, without reporting it. Everything that waits then waits longer, which is not the
// database's latency. One thread per CPU, with the highest priority, asks to be woken every
// millisecond; if it is woken late, nothing ran on that CPU. (Gil Tene's jHiccup detects pauses of
// a Java VM this way.)
const (
	pauseTick  = time.Millisecond
	pauseLeast = 500 * time.Microsecond // minimum lateness that counts as a pause
	pausesMax  = 1 << 20                // maximum of pauses kept: one in each ms of 15 minutes
)

// Pauses summarizes how long this machine was paused in the measured time.
type Pauses struct {
	Count   int
	Total   units.Duration // overlapping pauses of several CPUs count once
	Longest units.Duration
	// Aside counts operations for which pauses made up at least half of the latency: they count as done,
	// without a latency.
	Aside int64
}

// A pause is a pause of one CPU, in workload time.
type pause struct{ from, to vtime.Instant }

// A pauseMeter detects pauses during a Run.
type pauseMeter struct {
	mu   sync.Mutex
	all  []pause
	stop chan struct{}
	done sync.WaitGroup
}

// start begins measuring on every CPU. now returns workload time.
func (m *pauseMeter) start(now func() vtime.Instant) {
	m.stop = make(chan struct{})
	for cpu := range runtime.NumCPU() {
		m.done.Go(func() { m.watch(cpu, m.stop, now) })
	}
}

func (m *pauseMeter) end() {
	close(m.stop)
	m.done.Wait()
}

func (m *pauseMeter) watch(cpu int, stop <-chan struct{}, now func() vtime.Instant) {
	runtime.LockOSThread() // never unlocked, so the thread with its changed priority ends with the goroutine
	var only unix.CPUSet
	only.Set(cpu)

	if unix.SchedSetaffinity(0, &only) != nil {
		return // this process may not use that CPU
	}

	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)

	// Without the privilege, the thread would wait for other threads, which is not a pause.
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

// apply marks the operations to set aside and returns the pauses from an instant on.
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

// joined merges the pauses of all CPUs into a sorted list without overlaps.
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

// paused returns for how long the machine was paused within a span. all is sorted.
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
