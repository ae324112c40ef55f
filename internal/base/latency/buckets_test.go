package latency

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Edges are a twentieth of a decade apart, except for rounding to three digits, and their labels
// parse back to the same values.
func TestBucketEdges(t *testing.T) {
	edges := BucketEdges()
	if len(edges) != BucketCount || edges[0] != "1e-05" || edges[60] != "0.01" || edges[BucketCount-2] != "100" || edges[BucketCount-1] != "+Inf" {
		t.Fatalf("%q", edges)
	}

	before := 0.0
	for i, text := range edges[:BucketCount-1] {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Round(1e9*x) != float64(bucketEdges[i]) {
			t.Errorf("edge %d is %q, of %d ns: %v", i, text, bucketEdges[i], err)
		}
		if want := math.Pow(10, 0.05); i > 0 && math.Abs(x/before/want-1) > 0.02 {
			t.Errorf("from %g s to %g s is a factor of %.4f, want %.4f", before, x, x/before, want)
		}
		before = x
	}
}

// Each bucket counts all times up to its edge.
func TestBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edge := rapid.Map(rapid.IntRange(0, BucketCount-2), func(i int) int64 { return bucketEdges[i] })
		near := rapid.Custom(func(t *rapid.T) int64 { return edge.Draw(t, "edge") + rapid.Int64Range(-1, 1).Draw(t, "beside") })
		times := rapid.SliceOf(rapid.OneOf(near, rapid.Int64Range(0, 1e12))).Draw(t, "times")
		var b Buckets

		sum := int64(0)
		for _, ns := range times {
			b.Add(ns)
			sum += ns
		}

		var got [BucketCount]float64
		b.Cumulative(got[:])

		for i, e := range bucketEdges {
			want := 0.0
			for _, ns := range times {
				if ns <= e {
					want++
				}
			}
			if got[i] != want {
				t.Fatalf("up to %d ns are %g of %v, want %g", e, got[i], times, want)
			}
		}

		if got[BucketCount-1] != float64(len(times)) || b.SumSeconds() != float64(sum)/1e9 {
			t.Fatalf("%g in %g s of %v", got[BucketCount-1], b.SumSeconds(), times)
		}
	})
}
