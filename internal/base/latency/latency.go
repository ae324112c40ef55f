// Package latency counts latencies and reports them: as distributions, and by where in the
// checkpoint cycle an operation fell.
//
// A mean hides a stall, and a percentile over the whole run only shows that there was one.
// Databases that write in cycles (checkpoints, a write daemon, backend commits) stall in the same
// part of each cycle. So latencies are also kept by phase: while a cycle was writing, between two
// of them, and by tenths of the time since the last one started. An operation belongs to its
// intended start, whenever it was answered: everybody who arrived during a stall counts as having
// arrived during it.
//
//	var m latency.ByCycle
//	m.Add(took, since, writing)                   // for each operation
//	class := m.Class(period)                      // percentiles, by phase
//
// A [Distribution] is a histogram of two significant digits, so a percentile is within 1 %; sum and
// maximum are exact. A [Series] has coarser classes, 3 % wide, for a percentile of each second.
// [Sorter] finds the cycles of operations whose answers arrive in any order. Simulated runs, real
// runs and device probes are all counted here, so that their figures mean the same.
package latency

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A histogram counts in microseconds, up to a day, with two significant digits.
const (
	hdrUnit   = 1000 // nanoseconds
	hdrMost   = 86_400_000_000
	hdrDigits = 2
)

// A Distribution is a histogram of times plus what it would round away: sum and maximum. The zero
// Distribution is empty. It is not safe for concurrent use.
type Distribution struct {
	hdr  *hdrhistogram.Histogram
	n    int64
	sum  int64 // ns
	most int64 // ns
}

// Add counts a time in nanoseconds. Times over a day are counted as a day.
func (d *Distribution) Add(ns int64) {
	d.init()
	// The value is within range, so no error is possible.
	_ = d.hdr.RecordValue(counted(ns))
	d.n++
	d.sum += ns
	d.most = max(d.most, ns)
}

// counted is what a histogram counts for a time in nanoseconds.
func counted(ns int64) int64 { return min((max(ns, 0)+hdrUnit/2)/hdrUnit, hdrMost) }

func (d *Distribution) init() {
	if d.hdr == nil {
		d.hdr = hdrhistogram.New(1, hdrMost, hdrDigits)
	}
}

// Merge adds everything that o has counted.
func (d *Distribution) Merge(o *Distribution) {
	if o.n == 0 {
		return
	}
	d.init()
	d.hdr.Merge(o.hdr)
	d.n += o.n
	d.sum += o.sum
	d.most = max(d.most, o.most)
}

// Count returns how many times were added.
func (d *Distribution) Count() int64 { return d.n }

// Max returns the longest time in nanoseconds, 0 if there is none.
func (d *Distribution) Max() int64 { return d.most }

// Percentile returns the time in nanoseconds that the given percentage does not exceed, 0 if there
// is none.
func (d *Distribution) Percentile(p float64) int64 {
	if d.n == 0 {
		return 0
	}
	return min(d.hdr.ValueAtPercentile(p)*hdrUnit, d.most)
}

// Latency returns the distribution as figures.
func (d *Distribution) Latency() Latency {
	l := Latency{Operations: d.n}
	if d.n == 0 {
		return l
	}
	at := func(percentile float64) *float64 { return known(float64(d.Percentile(percentile)) / 1e9) }
	l.MeanSeconds = known(float64(d.sum) / float64(d.n) / 1e9)
	l.P50Seconds, l.P95Seconds, l.P99Seconds, l.P999Seconds = at(50), at(95), at(99), at(99.9)
	l.MaxSeconds = known(float64(d.most) / 1e9)
	return l
}

// A Latency describes a distribution of times from the intended start to the acknowledgement. Its
// JSON is a contract: fields are added, never changed.
type Latency struct {
	Operations  int64    `json:"operations"`
	MeanSeconds *float64 `json:"mean_seconds"` // null without operations, as are all below
	P50Seconds  *float64 `json:"p50_seconds"`
	P95Seconds  *float64 `json:"p95_seconds"`
	P99Seconds  *float64 `json:"p99_seconds"`
	P999Seconds *float64 `json:"p999_seconds"`
	MaxSeconds  *float64 `json:"max_seconds"`
}

// A Class is the latency of one kind of operation.
type Class struct {
	All               Latency `json:"all"`
	DuringCheckpoint  Latency `json:"during_checkpoint"`
	OutsideCheckpoint Latency `json:"outside_checkpoint"`
	// SinceCheckpoint is the latency by time since the last checkpoint (or cycle) started, in
	// tenths of the median distance between two starts.
	SinceCheckpoint []Phase `json:"since_checkpoint"`
}

// A Phase is the latency in one part of the checkpoint cycle.
type Phase struct {
	Name        string  `json:"name"` // "0-6s"
	FromSeconds float64 `json:"from_seconds"`
	ToSeconds   float64 `json:"to_seconds"`
	Latency
}

// known returns a figure for JSON, which has no NaN: null means not measured.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
