// Package series turns explained calls into counters of a recording, so that what a trace measured
// lies beside what other sources sampled:
//
//	plimsoll_trace_slow_calls_total{call}       calls that were slow
//	plimsoll_trace_slow_seconds_total{call}     what they took
//	plimsoll_trace_stage_seconds_total{stage}   the same, by stage
//	plimsoll_trace_culprit_seconds_total{process,why}  the part behind somebody's requests
//
// A call counts when it ends.
package series

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/trace/chain"
)

// culpritsMax bounds the series of culprits; further ones are counted as "others".
const culpritsMax = 500

// A Collector counts calls by the second.
type Collector struct {
	names map[string]labels.Labels
	sums  map[int64]map[string]float64 // by second since 1970, then by series
	who   int
}

// New returns a collector without calls.
func New() *Collector {
	return &Collector{names: map[string]labels.Labels{}, sums: map[int64]map[string]float64{}}
}

// Add counts a call that ended at a time.
func (c *Collector) Add(x *chain.Chain, end time.Time) {
	at := end.Unix() + 1
	call := x.Call.Kind.String()
	c.count(at, 1, "plimsoll_trace_slow_calls_total", "call", call)
	c.count(at, x.Took().Seconds(), "plimsoll_trace_slow_seconds_total", "call", call)
	for i := range x.Segments {
		s := &x.Segments[i]
		c.count(at, s.Took().Seconds(), "plimsoll_trace_stage_seconds_total", "stage", string(s.Stage))
		for _, b := range s.Shares {
			if b.Culprit.Self || b.Culprit == (chain.Culprit{}) {
				continue
			}
			c.culprit(at, b.Time.Seconds(), &b.Culprit)
		}
	}
}

func (c *Collector) culprit(at int64, seconds float64, who *chain.Culprit) {
	pairs := []string{"process", who.Comm, "why", string(who.Why)}
	if _, known := c.names[key("plimsoll_trace_culprit_seconds_total", pairs)]; !known {
		if c.who++; c.who > culpritsMax {
			pairs = []string{"process", "others", "why", string(who.Why)}
		}
	}
	c.count(at, seconds, "plimsoll_trace_culprit_seconds_total", pairs...)
}

func key(name string, pairs []string) string {
	for _, p := range pairs {
		name += "\x00" + p
	}
	return name
}

func (c *Collector) count(at int64, v float64, name string, pairs ...string) {
	k := key(name, pairs)
	if _, ok := c.names[k]; !ok {
		c.names[k] = labels.FromStrings(append([]string{labels.MetricName, name}, pairs...)...)
	}
	if c.sums[at] == nil {
		c.sums[at] = map[string]float64{}
	}
	c.sums[at][k] += v
}

// Batch is the counters at each second from one time to another. They begin at zero.
func (c *Collector) Batch(from, to time.Time) *recording.Batch {
	b := &recording.Batch{}
	first, last := from.Unix(), to.Unix()+2
	for s := first; s <= last; s++ {
		b.TimesMs = append(b.TimesMs, s*1000)
	}
	for _, k := range slices.SortedFunc(maps.Keys(c.names), func(a, b string) int { return cmp.Compare(a, b) }) {
		values := make([]float64, len(b.TimesMs))
		sum := 0.0
		for i := range values {
			sum += c.sums[first+int64(i)][k]
			values[i] = math.Round(sum*1e9) / 1e9
		}
		b.Columns = append(b.Columns, recording.Column{Labels: c.names[k], Values: values})
	}
	return b
}
