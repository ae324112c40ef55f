package recording

import (
	"slices"
	"time"

	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// How much of a metric is looked at to tell its period: the median is settled
// long before all samples are read.
const (
	periodSeries = 4   // series of a metric
	periodFirst  = 300 // samples from the start of a series
	periodLast   = 30  // samples from its end, about
)

// metricSummary gathers what a [Metric] says from the series of one name.
type metricSummary struct {
	series    int
	fromMs    int64
	toMs      int64
	distances []int64
}

// add takes one series that has samples from fromMs to toMs.
func (m *metricSummary) add(fromMs, toMs int64, iterator func(chunkenc.Iterator) chunkenc.Iterator) {
	if m.series == 0 {
		m.fromMs, m.toMs = fromMs, toMs
	}
	m.fromMs, m.toMs = min(m.fromMs, fromMs), max(m.toMs, toMs)
	m.series++
	if m.series <= periodSeries {
		m.distances = sampleDistances(m.distances, toMs, iterator(nil))
	}
}

func (m *metricSummary) metric(name string) Metric {
	return Metric{
		Name: name, Series: m.series, Period: median(m.distances),
		From: time.UnixMilli(m.fromMs).UTC(), To: time.UnixMilli(m.toMs).UTC(),
	}
}

// sampleDistances appends the distances, in ms, of a series' first and last samples to dst.
func sampleDistances(dst []int64, lastMs int64, it chunkenc.Iterator) []int64 {
	start := len(dst)
	var before int64
	walk := func(v chunkenc.ValueType, limit int) {
		for i := 0; v != chunkenc.ValNone && i < limit; i++ {
			t := it.AtT()
			if i > 0 {
				dst = append(dst, t-before)
			}
			before = t
			v = it.Next()
		}
	}
	walk(it.Next(), periodFirst)
	if period := median(dst[start:]); period > 0 && before < lastMs {
		walk(it.Seek(max(before+1, lastMs-periodLast*period.Milliseconds())), 2*periodLast)
	}
	return dst
}

// median is the median of distances in milliseconds, 0 of none.
func median(distancesMs []int64) time.Duration {
	if len(distancesMs) == 0 {
		return 0
	}
	sorted := slices.Clone(distancesMs)
	slices.Sort(sorted)
	return time.Duration(sorted[len(sorted)/2]) * time.Millisecond
}

// usualPeriod is the coarsest period among metrics, 0 if none is known.
func usualPeriod(metrics []Metric) time.Duration {
	var longest time.Duration
	for _, m := range metrics {
		longest = max(longest, m.Period)
	}
	return longest
}
