package latency

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestTallyIsADistribution: adding a tally to a distribution is the same as adding its times one by
// one.
func TestTallyIsADistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOf(rapid.OneOf(
			rapid.Int64Range(-5, 2_000_000), rapid.Int64Range(0, 60e9), rapid.Int64Range(0, 2*hdrMost*hdrUnit),
			rapid.Map(rapid.IntRange(0, 46), func(bit int) int64 { return 1 << bit }),
		)).Draw(t, "times")

		var parts tally
		var want, got Distribution
		for _, ns := range times {
			parts.add(ns)
			want.Add(ns)
		}

		parts.addTo(&got)
		if !reflect.DeepEqual(got.Latency(), want.Latency()) || got.n != want.n || got.sum != want.sum || got.most != want.most {
			t.Fatalf("%+v, want %+v", got, want)
		}

		if want.n > 0 && !want.hdr.Equals(got.hdr) {
			t.Fatalf("%v, want %v", got.hdr.Distribution(), want.hdr.Distribution())
		}
	})
}
