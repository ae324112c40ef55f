package main

import (
	"slices"
	"sync"
	"time"

	"plimsoll/internal/record/source"
)

// A tally counts the work of a run. A meter displays it.
type tally struct {
	mu    sync.Mutex
	reads []*reading
	// stage, if not empty, is the work after the sources have been read, counted in steps.
	stage       string
	things      string // what is counted, "" for steps
	done, total int
	// live is what live sources show so far, and news what is certain of them; "" if nothing.
	live, news string
	// charges are what providers may charge for sources, in words.
	charges []string
}

// charge adds what reading a source took, if its provider counts it.
func (t *tally) charge(s source.Source) {
	if c, ok := s.(source.Charged); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.charges = append(t.charges, s.Describe().Name+": "+c.Charge())
	}
}

// charged returns the charges in a fixed order.
func (t *tally) charged() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(slices.Values(t.charges))
}

// A reading is one source being read.
type reading struct {
	live bool // progress is in time, otherwise in bytes
	// done and total are bytes, or nanoseconds of a live source; total 0 is not known.
	done, total int64
}

// setLive sets what live sources show so far, and what is certain.
func (t *tally) setLive(text, news string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live, t.news = text, news
}

// start counts another source and returns the function that reports its progress.
func (t *tally) start(live bool) func(done, total int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &reading{live: live}
	t.reads = append(t.reads, r)
	return func(done, total int64) {
		t.mu.Lock()
		defer t.mu.Unlock()
		r.done, r.total = done, total
	}
}

// setStage sets the work after the sources have been read.
func (t *tally) setStage(stage string, done, total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stage, t.things, t.done, t.total = stage, "", done, total
}

// setCount is setStage for countable things, whose rate is shown.
func (t *tally) setCount(stage, things string, done, total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stage, t.things, t.done, t.total = stage, things, done, total
}

// The units work is counted in.
const (
	unitBytes = "bytes"
	unitTime  = "time"
	unitSteps = "steps"
)

// work sums up a tally: the phase of a run and its progress.
type work struct {
	phase       string
	unit        string
	things      string  // for steps, what they are; "" if their rate means nothing
	done, total float64 // bytes, seconds, steps; total 0 is not known
	live, news  string  // what live sources show so far, and what is certain
}

// sum adds up the work. The user waits for files; the time of live sources is shown only when
// nothing else is left.
func (t *tally) sum() work {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stage != "" {
		return work{phase: t.stage, unit: unitSteps, things: t.things, done: float64(t.done),
			total: float64(t.total)}
	}

	files := work{phase: "reading", unit: unitBytes}
	live := work{phase: "sampling", unit: unitTime, live: t.live, news: t.news}

	unknown, any, sampling := false, false, false
	for _, r := range t.reads {
		if r.live {
			sampling = true
			s, of := time.Duration(r.done).Seconds(), time.Duration(r.total).Seconds()
			// Live sources run concurrently, so their times do not add up.
			live.done, live.total = max(live.done, s), max(live.total, of)
			continue
		}

		any = true

		// One file of unknown size makes the total unknown.
		unknown = unknown || r.total == 0
		files.done += float64(r.done)
		files.total += float64(r.total)
	}

	if sampling && (!any || files.done >= files.total) {
		return live
	}

	if unknown {
		files.total = 0
	}

	return files
}
