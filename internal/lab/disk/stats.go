//go:build linux

package disk

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// Stats describe what a disk did, and how accurately it was emulated.
type Stats struct {
	Requests [volume.Ops]int64
	Bytes    [volume.Ops]int64
	// Asked is the sum of the latencies that the volume computed for the requests.
	Asked [volume.Ops]units.Duration
	// Refused counts writes that failed with ENOSPC because the backing store was full.
	Refused  int64
	Resident units.Size // memory or disk space that the image occupies
	// Volume is the volume's state.
	Volume volume.State
	// Lateness is how long after its due time a request was answered: the error of the emulation,
	// not of the volume.
	LateP50, LateP99, LateMax units.Duration
	// Late is the share of requests that were late by more than 100 us plus 5 % of their planned
	// latency: in total, and in the worst ten seconds.
	Late, LateWorst units.Ratio
	// Saturated means that the machine could not keep up: in some span of ten seconds, more than 5
	// % of the requests were late.
	Saturated bool
}

// What counts as late, and when a disk is saturated.
const (
	lateBeyond     = 100 * time.Microsecond
	lateShare      = 20 // in addition, a 20th of the planned latency
	lateSpan       = 10 * time.Second
	saturatedShare = 0.05
	saturatedLeast = 100 // minimum requests in the span; fewer prove nothing
)

// counts are a disk's counters.
type counts struct {
	refused atomic.Int64

	mu       sync.Mutex
	requests [volume.Ops]int64
	bytes    [volume.Ops]int64
	asked    [volume.Ops]time.Duration
	hdr      *hdrhistogram.Histogram // lateness in microseconds
	most     time.Duration
	late     int64
	total    int64
	span     vtime.Instant // number of the current span of ten seconds
	spanLate int64
	spanAll  int64
	worst    float64
}

func (c *counts) add(now vtime.Instant, op volume.Op, n int, asked, late time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[op]++
	c.bytes[op] += int64(n)
	c.asked[op] += asked

	if c.hdr == nil {
		c.hdr = hdrhistogram.New(1, 60_000_000, 2)
	}

	// Waking early and the expected wakeup time can make it negative, which is not late.
	late = max(late, 0)
	_ = c.hdr.RecordValue(min(int64(late/time.Microsecond), 60_000_000)) // the value is in range
	c.most = max(c.most, late)

	if span := now / vtime.Instant(lateSpan); span != c.span {
		c.closeSpan()
		c.span = span
	}

	c.total++
	c.spanAll++
	if late > lateBeyond+asked/lateShare {
		c.late++
		c.spanLate++
	}
}

func (c *counts) closeSpan() {
	if c.spanAll >= saturatedLeast {
		c.worst = max(c.worst, float64(c.spanLate)/float64(c.spanAll))
	}
	c.spanLate, c.spanAll = 0, 0
}

// Stats returns the disk's statistics.
func (d *Disk) Stats() Stats {
	d.host.mu.Lock()
	state := d.volume.State(vtime.Instant(d.host.clock.Now().Sub(d.epoch)))
	d.host.mu.Unlock()
	d.mu.RLock()
	resident := units.Size(0)

	if !d.closed {
		resident = units.Size(d.img.resident())
	}

	d.mu.RUnlock()

	c := &d.counts
	c.mu.Lock()
	defer c.mu.Unlock()

	out := Stats{Requests: c.requests, Bytes: c.bytes, Refused: c.refused.Load(), Resident: resident,
		Volume: state}
	for op, asked := range c.asked {
		out.Asked[op] = units.Duration(asked)
	}

	if c.total == 0 {
		return out
	}

	out.LateP50 = units.Duration(c.hdr.ValueAtQuantile(50)) * 1000
	out.LateP99 = units.Duration(c.hdr.ValueAtQuantile(99)) * 1000
	out.LateMax = units.Duration(c.most)
	out.Late = units.Ratio(float64(c.late) / float64(c.total))

	// The current span counts too, if it has enough requests.
	worst := c.worst

	if c.spanAll >= saturatedLeast {
		worst = max(worst, float64(c.spanLate)/float64(c.spanAll))
	}

	out.LateWorst = units.Ratio(worst)
	out.Saturated = worst > saturatedShare
	return out
}

// ResetStats restarts the counters, for example after a warm-up.
func (d *Disk) ResetStats() {
	d.counts.mu.Lock()
	defer d.counts.mu.Unlock()
	c := &d.counts
	c.requests, c.bytes, c.asked = [volume.Ops]int64{}, [volume.Ops]int64{}, [volume.Ops]time.Duration{}
	c.hdr, c.most, c.late, c.total, c.spanLate, c.spanAll, c.worst = nil, 0, 0, 0, 0, 0, 0
	c.refused.Store(0)
}
