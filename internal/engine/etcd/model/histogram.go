package model

import (
	"math/bits"
	"strconv"
	"time"
)

// buckets are how many finite buckets etcd's disk histograms have: upper edges of 1 ms x 2^n,
// up to 8.192 s (prometheus.ExponentialBuckets(0.001, 2, 14); etcd server/storage/wal/metrics.go).
const buckets = 14

// A histogram counts durations as etcd's do.
type histogram struct {
	counts [buckets + 1]int64 // the last has no upper edge
	sum    time.Duration
}

// observe counts a duration in the first bucket whose edge is no smaller.
func (h *histogram) observe(d time.Duration) {
	i := 0
	if d > time.Millisecond {
		i = bits.Len64(uint64((d - 1) / time.Millisecond))
	}
	h.counts[min(i, buckets)]++
	h.sum += d
}

// histogramSeries is how many series sample writes: a bucket each, the one without an edge, sum and
// count.
const histogramSeries = buckets + 3

// edges are the buckets' upper edges as the label le has them.
func edges() []string {
	out := make([]string, 0, buckets+1)
	for i := range buckets {
		out = append(out, strconv.FormatFloat(float64(int64(1)<<i)/1000, 'g', -1, 64))
	}
	return append(out, "+Inf")
}

// sample writes the cumulative counts, the sum in seconds and the count.
func (h *histogram) sample(values []float64) {
	total := int64(0)
	for i, n := range h.counts {
		total += n
		values[i] = float64(total)
	}
	values[buckets+1] = h.sum.Seconds()
	values[buckets+2] = float64(total)
}
