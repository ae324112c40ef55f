package watch

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// figureSeriesMax bounds the series passed on from one source: a host may have thousands of
// devices.
const figureSeriesMax = 256

// figureForgottenAfter is how long a value is passed on without new samples, so that removed
// devices disappear and make room for others.
const figureForgottenAfter = 5 * time.Minute

// figures holds the newest values of a source's counters and gauges that are passed on unchanged:
// the use of a database's storage, which its exporter, if there is one, may lack. A Prometheus that
// scrapes every 15 s can compute rates from them.
type figures struct {
	of map[string]rules.Counter // by the source's metric name

	mu     sync.Mutex
	values map[figureKey]figure
}

type figure struct {
	value float64
	ms    int64
}

func newFigures(pack *rules.Pack) *figures {
	f := &figures{of: map[string]rules.Counter{}, values: map[figureKey]figure{}}
	for _, c := range pack.Counters() {
		f.of[c.Metric] = c
	}
	return f
}

// has reports whether a metric is passed on.
func (f *figures) has(metric string) bool { _, ok := f.of[metric]; return ok }

type figureKey struct{ metric, label string }

// update stores the newest values of a batch. If two series of a source differ only in other
// labels, the first counts.
func (f *figures) update(b *recording.Batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ms := b.TimesMs[len(b.TimesMs)-1]
	maps.DeleteFunc(f.values, func(_ figureKey,
		n figure) bool {
		return n.ms < ms-figureForgottenAfter.Milliseconds()
	})

	seen := map[figureKey]bool{}
	for _, c := range b.Columns {
		metric := c.Labels.Get("__name__")
		fig, ok := f.of[metric]
		if !ok {
			continue
		}

		key := figureKey{metric: metric}
		if fig.Label != "" {
			key.label = label(c.Labels.Get(fig.Label))
		}

		// NaN marks a stale series, and v != v is true only for NaN.
		v := c.Values[len(c.Values)-1]
		if _, known := f.values[key]; v != v || seen[key] || (!known && len(f.values) >= figureSeriesMax) {
			continue
		}

		seen[key] = true
		f.values[key] = figure{v, ms}
	}
}

// collect sends the figures as metrics of the source.
func (f *figures) collect(source string, ch chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()

	keys := make([]figureKey, 0, len(f.values))
	for k := range f.values {
		keys = append(keys, k)
	}

	slices.SortFunc(keys, func(a, b figureKey) int {
		return strings.Compare(a.metric+"\x00"+a.label, b.metric+"\x00"+b.label)
	})
	given := map[figureKey]bool{}
	for _, k := range keys {
		fig := f.of[k.metric]

		// A device that a source reports under two names, as FTDC and node_exporter might, is sent
		// once.
		id := figureKey{fig.Name, k.label}
		if given[id] {
			continue
		}

		given[id] = true
		names, values := []string{"source"}, []string{source}
		if fig.Label != "" {
			names, values = append(names, fig.As), append(values, k.label)
		}

		kind := prometheus.CounterValue
		if fig.Gauge {
			kind = prometheus.GaugeValue
		}

		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(fig.Name, fig.Help, names, nil), kind,
			f.values[k].value*fig.Scale, values...)
	}
}
