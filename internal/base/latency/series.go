package latency

import (
	"math/bits"
	"time"

	"plimsoll/internal/base/vtime"
)

// Classes is the number of coarse latency classes: 32 per octave from 32 us on, 3 % wide, up to
// three days.
const Classes = 32 * 34

const (
	classUnit   = 10 // 2^10 ns
	classOctave = 5  // 2^5 per octave
)

// ClassOf returns the class of a time in nanoseconds.
func ClassOf(ns int64) int {
	v := uint64(max(ns, 0)) >> classUnit
	if v < 1<<classOctave {
		return int(v)
	}
	shift := bits.Len64(v) - classOctave - 1
	return min((shift+1)<<classOctave+int(v>>shift)-1<<classOctave, Classes-1)
}

// ClassTop returns the longest time of a class, in ns.
func ClassTop(c int) int64 {
	if c < 1<<classOctave {
		return int64(c+1)<<classUnit - 1
	}
	shift := c>>classOctave - 1
	return (int64(c&(1<<classOctave-1)+1<<classOctave)+1)<<(shift+classUnit) - 1
}

// SeriesMax bounds the cells of a series: longer runs get longer cells.
const SeriesMax = 3600

// A Series holds latencies over time, one cell per second or, for long runs, per few seconds.
type Series struct {
	Step  time.Duration
	Cells []Cell
	from  vtime.Instant
}

// NewSeries returns the series of a run from one instant to another.
func NewSeries(from, end vtime.Instant) *Series {
	// Rounded up, so that the last, partial second has a cell too.
	seconds := int64(end-from+vtime.Instant(1e9)-1) / 1e9
	step := max((seconds+SeriesMax-1)/SeriesMax, 1)
	return &Series{Step: time.Duration(step * 1e9),
		Cells: make([]Cell, max((seconds+step-1)/step, 1)), from: from}
}

// Add counts an operation that was due at an instant of the run and took ns nanoseconds.
func (s *Series) Add(at vtime.Instant, ns int64) {
	s.Cells[min(int((at-s.from)/vtime.Instant(s.Step)), len(s.Cells)-1)].add(ns)
}

// A Cell is one step of a series: the operations that were due in it.
type Cell struct {
	Count   int64
	Max     int64 // ns
	classes []uint32
}

func (c *Cell) add(ns int64) {
	if c.classes == nil {
		c.classes = make([]uint32, 0, 512)
	}
	k := ClassOf(ns)
	for len(c.classes) <= k {
		c.classes = append(c.classes, 0)
	}
	c.classes[k]++
	c.Count++
	c.Max = max(c.Max, ns)
}

// Counts holds the operations of each class, as numbered by [ClassOf]; classes beyond its end have
// none. The caller must not change it.
func (c *Cell) Counts() []uint32 { return c.classes }

// Quantile returns the time in ns that a share of a cell's operations, in thousandths, does not
// exceed.
func (c *Cell) Quantile(thousandths int64) int64 {
	// The rank is rounded up: at least that share of the operations must not exceed the result.
	rank := (c.Count*thousandths + 999) / 1000
	for k, n := range c.classes {
		if rank -= int64(n); rank <= 0 {
			return min(ClassTop(k), c.Max)
		}
	}
	return c.Max
}
