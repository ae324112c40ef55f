package latency

import (
	"slices"
	"strconv"
)

// A Buckets counts times as a classic Prometheus histogram does: cumulative counts of what took at most each edge. It is
// what a recording keeps of a distribution, since counts of many seconds, and of two recordings, can be summed and
// subtracted, as percentiles cannot. Its edges are fixed, so any two can be compared. The zero Buckets is empty.
type Buckets struct {
	counts [BucketCount]int64
	sum    int64 // ns
}

// Edges of buckets: the preferred numbers R20 (ISO 3), twenty a decade and so 12 % apart, from 10 us to 100 s. Faster than
// the first no volume answers, and whoever waits longer than the last has given up.
const (
	bucketFirst   = 10_000 // ns
	bucketDecades = 7
	bucketsDecade = 20
	// BucketCount is how many there are: one up to each edge, and one for all.
	BucketCount = bucketDecades*bucketsDecade + 2
)

// preferred are R20's numbers, times a hundred.
var preferred = [bucketsDecade]int64{
	100, 112, 125, 140, 160, 180, 200, 224, 250, 280, 315, 355, 400, 450, 500, 560, 630, 710, 800, 900,
}

// bucketEdges are the upper edges in ns, without that of the last, which has none.
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

// BucketEdges are the edges as the label le has them, in seconds; the last is +Inf.
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

// Cumulative writes how many took at most each edge; the last is all of them.
func (b *Buckets) Cumulative(values []float64) {
	total := int64(0)
	for i, n := range b.counts {
		total += n
		values[i] = float64(total)
	}
}

// SumSeconds is the sum of all times.
func (b *Buckets) SumSeconds() float64 { return float64(b.sum) / 1e9 }
