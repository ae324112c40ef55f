package run

import (
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/record/recording"
)

// clientLatency is the histogram of latencies from the intended starts, with the same name as in a
// simulation.
const clientLatency = "plimsoll_client_latency_seconds"

// felt returns a histogram's columns for one instant.
func felt(kind string, b *latency.Buckets) []recording.Column {
	values := make([]float64, latency.BucketCount)
	b.Cumulative(values)
	out := make([]recording.Column, 0, len(values)+2)
	add := func(value float64, name string, pairs ...string) {
		pairs = append(pairs, labels.MetricName, clientLatency+name, "kind", kind)
		out = append(out, recording.Column{Labels: labels.FromStrings(pairs...), Values: []float64{value}})
	}
	for i, le := range latency.BucketEdges() {
		add(values[i], "_bucket", "le", le)
	}
	add(b.SumSeconds(), "_sum")
	add(values[len(values)-1], "_count")
	return out
}
