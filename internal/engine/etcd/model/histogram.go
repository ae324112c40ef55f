package model

import (
	"math/bits"
	"strconv"
	"time"
)

// buckets is the number of finite buckets of etcd's disk histograms: upper bounds of 1 ms x 2^n, up
// to 8.192 s (prometheus.ExponentialBuckets(0.001, 2, 14); etcd server/storage/wal/metrics.go).
const buckets = 14

// A histogram counts durations as etcd's do.
type histogram struct {
	counts [buckets + 1]int64 // the last one has no upper bound
	sum    time.Duration
}

// observe counts a duration in the first bucket whose upper bound is not smaller.
func (h *histogram) observe(d time.Duration) {
	i := 0
	if d > time.Millisecond {
		i = bits.Len64(uint64((d - 1) / time.Millisecond))
	}
	h.counts[min(i, buckets)]++
	h.sum += d
}

// histogramSeries is how many series sample writes: the finite buckets, +Inf, sum and count.
const histogramSeries = buckets + 3

// edges returns the buckets' upper bounds as values of the label le.
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
