package latency

import (
	"strconv"

	"plimsoll/internal/base/vtime"
)

// A cycle is cut into parts: 10 ms wide in the first second, 100 ms up to 10 s, 1 s up to 100 s,
// and so on.
const (
	partEdgeNs  = 10_000_000 // of the finest part
	partDecades = 5
	parts       = 100 + 4*90 + 1 // the last one holds all longer times
)

// partOf returns the part of a cycle for a time since its start. Tenths of the cycle are built from
// the parts at the end, when the cycle's length is known.
func partOf(ns int64) int {
	width, from, first := int64(partEdgeNs), int64(0), 0
	for range partDecades {
		if ns < 100*width {
			return first + int((ns-from)/width)
		}
		first += int((100*width - from) / width)
		from = 100 * width
		width *= 10
	}
	return parts - 1
}

// partMiddle returns the middle of a part, in ns.
func partMiddle(p int) int64 {
	width, from, first := int64(partEdgeNs), int64(0), 0
	for {
		n := int((100*width - from) / width)
		if p < first+n {
			return from + int64(p-first)*width + width/2
		}
		first += n
		from = 100 * width
		width *= 10
	}
}

// ByCycle is the latency of one kind of operation, split by where in the write cycle the operation
// was due. The zero ByCycle is empty.
type ByCycle struct {
	during, outside Distribution
	since           [parts]tally
}

// Before marks an operation that was due before the first cycle began. It replaces the time since a
// cycle's start.
const Before vtime.Instant = -1

// Add counts an operation that took ns nanoseconds. since is how long after the start of the last
// cycle it was due, or Before; writing says whether that cycle was still running.
func (b *ByCycle) Add(ns int64, since vtime.Instant, writing bool) {
	if since >= 0 && writing {
		b.during.Add(ns)
	} else {
		b.outside.Add(ns)
	}
	if since >= 0 {
		b.since[partOf(int64(since))].add(ns)
	}
}

// All returns the distribution over all cycles.
func (b *ByCycle) All() *Distribution {
	var all Distribution
	all.Merge(&b.during)
	all.Merge(&b.outside)
	return &all
}

// Class returns the latency as a whole and by phase. period is the typical time between the starts
// of two cycles, in seconds. If it is nil, there are no tenths.
func (b *ByCycle) Class(period *float64) Class {
	all := b.All()
	c := Class{
		All: all.Latency(), DuringCheckpoint: b.during.Latency(), OutsideCheckpoint: b.outside.Latency(),
		SinceCheckpoint: []Phase{},
	}

	if period == nil || *period <= 0 || all.n == 0 {
		return c
	}

	// A late checkpoint makes its cycle longer than the period; the excess counts in the last
	// tenth.
	tenth := *period / 10
	var tenths [10]Distribution
	for i := range b.since {
		at := float64(partMiddle(i)) / 1e9
		b.since[i].addTo(&tenths[min(int(at/tenth), 9)])
	}

	for i := range tenths {
		from, to := tenth*float64(i), tenth*float64(i+1)
		c.SinceCheckpoint = append(c.SinceCheckpoint, Phase{
			Name: trim(from) + "-" + trim(to) + "s", FromSeconds: from, ToSeconds: to, Latency: tenths[i].Latency(),
		})
	}

	return c
}

// trim formats the edge of a phase in seconds, without trailing zeros.
func trim(seconds float64) string {
	digits := 0
	switch {
	case seconds != 0 && seconds < 1:
		digits = 3
	case seconds < 10:
		digits = 1
	}

	text := strconv.FormatFloat(seconds, 'f', digits, 64)
	for digits > 0 && (text[len(text)-1] == '0' || text[len(text)-1] == '.') {
		if text[len(text)-1] == '.' {
			return text[:len(text)-1]
		}
		text = text[:len(text)-1]
	}

	return text
}

// An Operation is an acknowledged operation that is not yet assigned to a cycle.
type Operation struct {
	At    vtime.Instant // its intended start
	Took  int64         // ns
	Write bool
	// Aside excludes the latency from the statistics, because the machine was suspended.
	Aside bool
}

// A Sorter assigns operations to the cycles in which they were due, reads and writes separately.
type Sorter struct {
	Reads, Writes ByCycle
}

// Sort counts operations, which come roughly in the order of their intended starts. cycle returns
// the i-th of n cycles, in order; the end of a running cycle is vtime.Never.
func (s *Sorter) Sort(ops []Operation, n int, cycle func(i int) (start, end vtime.Instant)) {
	// Most operations belong to the last cycle, so the search starts there and moves by steps.
	at := n - 1
	var start, next, end vtime.Instant
	load := func() {
		start, end, next = Before, Before, vtime.Never
		if at >= 0 {
			start, end = cycle(at)
		}
		if at+1 < n {
			next, _ = cycle(at + 1)
		}
	}

	load()
	for i := range ops {
		p := &ops[i]

		// An operation exactly at the start of a cycle belongs to that cycle.
		for p.At >= next {
			at++
			load()
		}

		// Answers may arrive out of order, so an operation may also belong to an earlier cycle.
		for at >= 0 && start > p.At {
			at--
			load()
		}

		since := Before
		if at >= 0 {
			since = p.At - start
		}

		if p.Write {
			s.Writes.Add(p.Took, since, p.At < end)
		} else {
			s.Reads.Add(p.Took, since, p.At < end)
		}
	}
}
