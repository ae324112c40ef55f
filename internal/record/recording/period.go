package recording

import (
	"slices"
	"time"

	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// How much of a metric is read to determine its period: the median is stable long before all
// samples are read.
const (
	periodSeries = 4   // series of a metric
	periodFirst  = 300 // samples from the start of a series
	periodLast   = 30  // samples from its end
)

// metricSummary collects the data of a [Metric] from the series of one name.
type metricSummary struct {
	series    int
	fromMs    int64
	toMs      int64
	distances []int64
}

// add adds a series with samples from fromMs to toMs.
func (m *metricSummary) add(fromMs, toMs int64) {
	if m.series == 0 {
		m.fromMs, m.toMs = fromMs, toMs
	}
	m.fromMs, m.toMs = min(m.fromMs, fromMs), max(m.toMs, toMs)
	m.series++
}

// measure adds the distances between the next samples of a series.
func (m *metricSummary) measure(it chunkenc.Iterator, samples int) {
	var before int64
	for i := 0; i < samples && it.Next() != chunkenc.ValNone; i++ {
		t := it.AtT()
		// The first sample has no distance to a previous one.
		if i > 0 {
			m.distances = append(m.distances, t-before)
		}
		before = t
	}
}

func (m *metricSummary) metric(name string) Metric {
	return Metric{
		Name: name, Series: m.series, Period: Median(m.distances),
		From: time.UnixMilli(m.fromMs).UTC(), To: time.UnixMilli(m.toMs).UTC(),
	}
}

// Median returns the median of distances in milliseconds, or 0 if there are none.
func Median(distancesMs []int64) time.Duration {
	if len(distancesMs) == 0 {
		return 0
	}
	sorted := slices.Clone(distancesMs)
	slices.Sort(sorted)
	return time.Duration(sorted[len(sorted)/2]) * time.Millisecond
}
