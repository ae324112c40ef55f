// Package latency counts latencies and reports them as distributions, in total and by where in the
// checkpoint cycle an operation was due.
//
// A mean hides a stall, and a percentile over the whole run shows only that there was one.
// Databases that write in cycles (checkpoints, a write daemon, backend commits) stall in the same
// part of each cycle. So latencies are also kept by phase: while a cycle was writing, between two
// cycles, and by tenths of the time since the last cycle started. An operation counts at its
// intended start, no matter when it was answered, so every request that arrived during a stall
// counts as affected by it.
//
//	var m latency.ByCycle
//	m.Add(took, since, writing)                   // for each operation
//	class := m.Class(period)                      // percentiles, by phase
//
// A [Distribution] is a histogram of two significant digits, so a percentile is accurate to 1 %;
// sum and maximum are exact. A [Series] has coarser classes, 3 % wide, for percentiles of each
// second. [Sorter] assigns operations to cycles when answers arrive in any order. Simulated runs,
// real runs and device probes all use this package, so their figures are comparable.
package latency

import (
	"github.com/HdrHistogram/hdrhistogram-go"
)

// A histogram counts in microseconds, up to one day, with two significant digits.
const (
	hdrUnit   = 1000 // nanoseconds
	hdrMost   = 86_400_000_000
	hdrDigits = 2
)

// A Distribution is a histogram of times, plus their exact sum and maximum. The zero Distribution
// is empty. It is not safe for concurrent use.
type Distribution struct {
	hdr  *hdrhistogram.Histogram
	n    int64
	sum  int64 // ns
	most int64 // ns
}

// Add counts a time in nanoseconds. Times over one day count as one day.
func (d *Distribution) Add(ns int64) {
	d.init()
	// The value is within range, so no error is possible.
	_ = d.hdr.RecordValue(counted(ns))
	d.n++
	d.sum += ns
	d.most = max(d.most, ns)
}

// counted converts nanoseconds to the unit of the histogram, rounded and limited to its range.
func counted(ns int64) int64 { return min((max(ns, 0)+hdrUnit/2)/hdrUnit, hdrMost) }

func (d *Distribution) init() {
	if d.hdr == nil {
		d.hdr = hdrhistogram.New(1, hdrMost, hdrDigits)
	}
}

// Merge adds all times that o has counted.
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

// Max returns the longest time in nanoseconds, or 0 if there is none.
func (d *Distribution) Max() int64 { return d.most }

// Percentile returns the time in nanoseconds that the given percentage of times does not exceed, or
// 0 if there is none.
func (d *Distribution) Percentile(p float64) int64 {
	if d.n == 0 {
		return 0
	}
	// A class is wider than its longest time, so without the bound a percentile could exceed the
	// maximum.
	return min(d.hdr.ValueAtPercentile(p)*hdrUnit, d.most)
}

// Latency returns the distribution's statistics.
func (d *Distribution) Latency() Latency {
	l := Latency{Operations: d.n}
	if d.n == 0 {
		return l
	}
	// In seconds, like all figures in JSON.
	at := func(percentile float64) *float64 { return new(float64(d.Percentile(percentile)) / 1e9) }
	l.MeanSeconds = new(float64(d.sum) / float64(d.n) / 1e9)
	l.P50Seconds, l.P95Seconds, l.P99Seconds, l.P999Seconds = at(50), at(95), at(99), at(99.9)
	l.MaxSeconds = new(float64(d.most) / 1e9)
	return l
}

// A Latency describes a distribution of times from the intended start to the acknowledgement. Its
// JSON is a contract: fields are added, never changed.
type Latency struct {
	Operations  int64    `json:"operations"`
	MeanSeconds *float64 `json:"mean_seconds"` // null if there were no operations, like all fields below
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
