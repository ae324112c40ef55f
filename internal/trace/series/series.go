// Package series turns explained calls into counters of a recording, so that what a trace measured
// can be compared with what other sources sampled:
//
//	plimsoll_trace_slow_calls_total{call}       slow calls
//	plimsoll_trace_slow_seconds_total{call}     their duration
//	plimsoll_trace_stage_seconds_total{stage}   the same, by stage
//	plimsoll_trace_culprit_seconds_total{process,why}  the part behind another process's requests
//	plimsoll_trace_slower_than_seconds{target}  threshold for slow calls; only while a trace ran
//	plimsoll_trace_wait_seconds_total{program,device,wait,stage,behind,why}
//	                                            their duration, by the calls' program and device,
//	                                            what they waited for, and the blocking program
//
// In the first four, a call counts when it ends. In the last, each part of a call counts in the
// seconds in which it happened, so that it lines up with the samples of other sources. Its values
// add up to plimsoll_trace_slow_seconds_total.
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
	"plimsoll/internal/trace/events"
	"plimsoll/internal/trace/wait"
)

// culpritsMax bounds the series of culprits and those of waits; any more are counted under
// "others".
const culpritsMax = 500

const (
	culpritSeconds = "plimsoll_trace_culprit_seconds_total"
	waitSeconds    = "plimsoll_trace_wait_seconds_total"
)

// A Collector counts calls by the second.
type Collector struct {
	names  map[string]int32 // indices in series, by name and labels
	series []labels.Labels
	sums   map[int64]map[int32]float64 // by second since 1970, then by series
	known  map[string]int              // number of series of each bounded name
	// Program returns the program of a task, whose own name is that of its thread; nil uses the
	// task's name.
	Program func(events.Task) string
	// Device returns the disk below a file system, given its device number; nil leaves it out.
	Device func(dev uint32) string
}

// New returns a collector without calls.
func New() *Collector {
	return &Collector{names: map[string]int32{}, sums: map[int64]map[int32]float64{}, known: map[string]int{}}
}

// Add counts a call that ended at a time.
func (c *Collector) Add(x *chain.Chain, end time.Time) {
	// A counter's sample at a second covers everything before it, so the call shows from the next
	// full second on.
	at := end.Unix() + 1
	call := x.Call.Kind.String()
	c.count(at, 1, "plimsoll_trace_slow_calls_total", "call", call)
	c.count(at, x.Took().Seconds(), "plimsoll_trace_slow_seconds_total", "call", call)

	began := end.UnixNano() - x.Call.Exit // wall clock at the events' time 0
	for i := range x.Segments {
		s := &x.Segments[i]
		c.count(at, s.Took().Seconds(), "plimsoll_trace_stage_seconds_total", "stage", string(s.Stage))

		rest := s.Took()
		for _, b := range s.Shares {
			c.waited(x, s, b.Culprit, b.Time, began)
			rest -= b.Time
			if b.Culprit.Self || b.Culprit == (chain.Culprit{}) {
				continue
			}
			why := []string{"why", string(b.Culprit.Why)}
			c.count(at, b.Time.Seconds(), culpritSeconds, c.bounded(culpritSeconds, why, "process", b.Culprit.Comm)...)
		}

		if rest > 0 {
			c.waited(x, s, chain.Culprit{}, rest, began)
		}
	}
}

// bounded adds the names of programs to the labels of a series, or "others" if there are too many
// series of that name.
func (c *Collector) bounded(name string, pairs []string, programs ...string) []string {
	whole := append(programs, pairs...)
	if _, ok := c.names[key(name, whole)]; ok {
		return whole
	}
	if c.known[name]++; c.known[name] > culpritsMax {
		for i := 1; i < len(programs); i += 2 {
			if whole[i] != "" {
				whole[i] = "others"
			}
		}
	}
	return whole
}

// waited spreads a part of a segment over the seconds that the segment covers.
func (c *Collector) waited(x *chain.Chain, s *chain.Segment, who chain.Culprit, took time.Duration,
	began int64) {
	program := c.program(x.Call.Task)
	pairs := []string{"wait", string(chain.WaitOf(s.Stage, who)), "stage", string(s.Stage), "why",
		string(who.Why)}
	if c.Device != nil {
		pairs = append(pairs, "device", c.Device(x.Call.File.Dev))
	}

	behind := ""
	switch {
	case who.Self, who == (chain.Culprit{}):
	case who.PID == x.Call.PID:
		behind = program
	default:
		behind = c.program(events.Task{PID: who.PID, TID: who.TID, Comm: who.Comm})
	}

	pairs = c.bounded(waitSeconds, pairs, "program", program, "behind", behind)
	from, to := began+s.From, began+s.To
	for at := from; at < to; {
		second := at/int64(time.Second) + 1
		until := min(to, second*int64(time.Second))
		c.count(second, took.Seconds()*float64(until-at)/float64(to-from), waitSeconds, pairs...)
		at = until
	}
}

func (c *Collector) program(t events.Task) string {
	switch {
	case t.PID == 0 && t.Comm != "": // kernel threads are recorded by name only
		return wait.KernelThreads
	case c.Program == nil || t.PID == 0:
		return t.Comm
	}
	return cmp.Or(c.Program(t), t.Comm)
}

func key(name string, pairs []string) string {
	for _, p := range pairs {
		name += "\x00" + p
	}
	return name
}

func (c *Collector) count(at int64, v float64, name string, pairs ...string) {
	k := key(name, pairs)
	i, ok := c.names[k]
	if !ok {
		i = int32(len(c.series))
		c.names[k] = i
		c.series = append(c.series, labels.FromStrings(append([]string{labels.MetricName, name}, pairs...)...))
	}
	if c.sums[at] == nil {
		c.sums[at] = map[int32]float64{}
	}
	c.sums[at][i] += v
}

// A Trace describes the trace that the calls come from.
type Trace struct {
	Target string
	Slower time.Duration // threshold for slow calls
}

// batchSeconds is the time covered by one batch. A thousand series over a day would take 0.7 GB in
// a single one.
const batchSeconds = 600

// Batches visits the counters at each second of an interval, in batches of some minutes. Counters
// start at zero. A batch is valid until visit returns.
func (c *Collector) Batches(of Trace, from, to time.Time, visit func(*recording.Batch) error) error {
	first, last := from.Unix(), to.Unix()+2
	order, sums := c.start(first)
	for begin := first; begin <= last; begin += batchSeconds {
		if err := visit(c.batch(of, order, sums, first, begin, min(begin+batchSeconds-1, last))); err != nil {
			return err
		}
	}
	return nil
}

// Batch returns the counters of a short trace as one batch.
func (c *Collector) Batch(of Trace, from, to time.Time) *recording.Batch {
	first := from.Unix()
	order, sums := c.start(first)
	return c.batch(of, order, sums, first, first, to.Unix()+2)
}

// start returns the order of the series, and the counts up to the first second, which are not zero
// if the clock was set back.
func (c *Collector) start(first int64) (order []int32, sums []float64) {
	for _, k := range slices.Sorted(maps.Keys(c.names)) {
		order = append(order, c.names[k])
	}
	sums = make([]float64, len(c.series))
	for at, x := range c.sums {
		if at <= first {
			for i, v := range x {
				sums[i] += v
			}
		}
	}
	return order, sums
}

// batch returns the counters of an interval. It adds to sums, except for the very first second,
// whose values are zero.
func (c *Collector) batch(of Trace, order []int32, sums []float64, first, from, to int64) *recording.Batch {
	b := &recording.Batch{}
	for s := from; s <= to; s++ {
		b.TimesMs = append(b.TimesMs, s*1000)
	}

	for _, i := range order {
		values := make([]float64, len(b.TimesMs))
		for k := range values {
			if s := from + int64(k); s > first {
				sums[i] += c.sums[s][i]
				// Rounding to nanoseconds hides floating-point noise, which would make counters
				// decrease.
				values[k] = math.Round(sums[i]*1e9) / 1e9
			}
		}
		b.Columns = append(b.Columns, recording.Column{Labels: c.series[i], Values: values})
	}

	b.Columns = append(b.Columns, recording.Column{Values: slices.Repeat([]float64{of.Slower.Seconds()},
		len(b.TimesMs)),
		Labels: labels.FromStrings(labels.MetricName, "plimsoll_trace_slower_than_seconds", "target", of.Target)})
	return b
}
