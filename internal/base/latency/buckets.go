package latency

import (
	"slices"
	"strconv"
)

// Buckets counts times like a classic Prometheus histogram: each count includes all times up to its
// edge. A recording stores a distribution in this form because counts, unlike percentiles, can be
// added and subtracted over many seconds and between recordings. The edges are fixed, so any two
// can be compared. The zero Buckets is empty.
type Buckets struct {
	counts [BucketCount]int64
	sum    int64 // ns
}

// The edges of the buckets are the preferred numbers R20 (ISO 3): twenty per decade, so 12 % apart,
// from 10 us to 100 s. No volume answers faster than the first edge, and any client has timed out
// by the last.
const (
	bucketFirst   = 10_000 // ns
	bucketDecades = 7
	bucketsDecade = 20
	// BucketCount is the number of buckets: one per edge, and +Inf.
	BucketCount = bucketDecades*bucketsDecade + 2
)

// preferred holds the R20 numbers times a hundred.
var preferred = [bucketsDecade]int64{
	100, 112, 125, 140, 160, 180, 200, 224, 250, 280, 315, 355, 400, 450, 500, 560, 630, 710, 800, 900,
}

// bucketEdges holds the upper edges in ns. The last bucket has none.
var bucketEdges = func() (edges [BucketCount - 1]int64) {
	i, decade := 0, int64(bucketFirst)
	for range bucketDecades {
		for _, p := range preferred {
			edges[i] = decade / 100 * p
			i++
		}
		decade *= 10
	}
	edges[i] = decade
	return edges
}()

// BucketEdges returns the edges as values of the label le, in seconds; the last is +Inf.
func BucketEdges() []string {
	out := make([]string, 0, BucketCount)
	for _, ns := range bucketEdges {
		out = append(out, strconv.FormatFloat(float64(ns)/1e9, 'g', -1, 64))
	}
	return append(out, "+Inf")
}

// Add counts a time in nanoseconds.
func (b *Buckets) Add(ns int64) {
	i, _ := slices.BinarySearch(bucketEdges[:], ns)
	b.counts[i]++
	b.sum += ns
}

// Cumulative writes how many times were at most each edge. The last value is the total count.
func (b *Buckets) Cumulative(values []float64) {
	total := int64(0)
	for i, n := range b.counts {
		total += n
		values[i] = float64(total)
	}
}

// SumSeconds returns the sum of all times.
func (b *Buckets) SumSeconds() float64 { return float64(b.sum) / 1e9 }
