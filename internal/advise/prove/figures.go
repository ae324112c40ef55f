package prove

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A kind is a figure that recordings may contain.
type kind struct {
	name, title, unit string
	wanted            rules.Wanted
	// felt: the figure is client-visible. Client-visible figures decide whether a change as a whole is better
	// or worse.
	felt bool
	// ways are the ways to read it, the most exact first. Both recordings are read in the same way.
	ways []way
}

// A way reads a figure from a side; the measure is nil if the side lacks it. basis describes what the
// figure is computed from.
type way struct {
	of    func(s *side) measure
	basis string
}

const (
	summed = "histogram, summed over the run"
	means  = "percentile of interval means, weighted by operations"
	little = "percentile of interval means: executing sessions divided by commits per second (Little's law), weighted by commits"
)

// kinds returns all figures, the client-visible ones first.
func kinds(pack *rules.Pack) []kind {
	out := []kind{
		{"write_p50", "write p50", "seconds", rules.Less, true, writes.latencies(pack, 0.5)},
		{"write_p99", "write p99", "seconds", rules.Less, true, writes.latencies(pack, 0.99)},
		{"write_p999", "write p99.9", "seconds", rules.Less, true, []way{writes.felt(0.999)}},
		{"read_p50", "read p50", "seconds", rules.Less, true, reads.latencies(pack, 0.5)},
		{"read_p99", "read p99", "seconds", rules.Less, true, reads.latencies(pack, 0.99)},
		{"read_p999", "read p99.9", "seconds", rules.Less, true, []way{reads.felt(0.999)}},
		{"stalled", "stalled an hour", "seconds/h", rules.Less, true,
			[]way{{stalled, "stalled intervals, as found by diagnose"}}},
	}

	times := func(f rules.Figure) bool { return f.Unit == "seconds" }
	out = append(out, ofEngines(pack, func(f rules.Figure) bool { return times(f) && f.Felt })...)
	out = append(out, ofEngines(pack, func(f rules.Figure) bool { return times(f) && !f.Felt })...)
	out = append(out,
		kind{"checkpoint", "checkpoint", "seconds", rules.Less, false, checkpointWays(pack)},
		kind{"operations", "operations", "1/s", rules.More, false, operationWays(pack)})
	out = append(out, ofEngines(pack, func(f rules.Figure) bool { return !times(f) })...)

	return append(out,
		kind{"page_cache_dirty", "page cache dirty", "bytes", rules.Neither, false,
			[]way{{overTime(rules.MemoryDirty), "mean over time"}}},
		kind{"iops", "device IOPS", "1/s", rules.Neither, false,
			[]way{{onDevice(rules.DiskOps), "mean over time"}}},
		kind{"throughput", "device throughput", "bytes/s", rules.Neither, false,
			[]way{{onDevice(rules.DiskMoved), "mean over time"}}},
		kind{"utilisation", "device busy", "ratio", rules.Less, false,
			[]way{{onDevice(rules.DiskBusy), "mean over time"}}},
		kind{"await", "device write await", "seconds", rules.Less, false, []way{{await, "mean of writes"}}},
	)
}

// ofEngines returns the engines' own figures.
func ofEngines(pack *rules.Pack, wanted func(rules.Figure) bool) (out []kind) {
	for _, e := range pack.Engines() {
		for _, f := range e.Compared.Figures {
			if wanted(f) {
				out = append(out, kind{f.Name, f.Title, f.Unit, f.Wanted, f.Felt, []way{ofEngine(f)}})
			}
		}
	}
	return out
}

func ofEngine(f rules.Figure) way {
	switch {
	case f.Classes != nil:
		return way{classes(f.Classes, f.Q), summed}
	case f.Time != nil:
		return way{perEvent(f.Time, f.Events), "mean"}
	}
	return way{overTime(f.Mean), "mean over time"}
}

func checkpointWays(pack *rules.Pack) []way {
	out := []way{{checkpointSeconds, "mean"}}
	for _, e := range pack.Engines() {
		if last := e.Compared.LastCycle; last != nil {
			out = append(out, way{overTime(last), "mean over time of the last cycle's"})
		}
	}
	return out
}

// one returns a signal's only series, or the sum of several; nil if not measured.
func (s *side) one(signal *rules.Signal) []float64 { return s.c.One(signal) }

// An operationKind is a kind of client operation, with its signals in load generators and servers.
type operationKind struct {
	classes, latency, rate *rules.Signal
	server                 func(rules.Compared) rules.Felt
}

var (
	writes = operationKind{rules.ClientWriteClasses, rules.ClientWriteLatency, rules.ClientWrites,
		func(c rules.Compared) rules.Felt { return c.Writes }}
	reads = operationKind{rules.ClientReadClasses, rules.ClientReadLatency, rules.ClientReads,
		func(c rules.Compared) rules.Felt { return c.Reads }}
)

// felt reads a percentile of all latencies, measured from the intended starts, from the histogram that
// simulations and the lab record. Only this way gives a p99.9: from one-second means, it would be that of
// the worst second.
func (o operationKind) felt(q float64) way {
	return way{classes(o.classes, q), summed + ", from the intended starts"}
}

// latencies returns the ways to read a percentile of operations' latency: from a load generator's
// histogram, from its means, from the server's means, and from a symptom's detector.
func (o operationKind) latencies(pack *rules.Pack, q float64) []way {
	bySignals := func(latency, rate *rules.Signal) func(s *side) measure {
		return func(s *side) measure { return s.quantile(q, s.one(latency), s.one(rate)) }
	}
	out := []way{o.felt(q), {bySignals(o.latency, o.rate), means + ", from the load generator"}}
	for _, e := range pack.Engines() {
		f := o.server(e.Compared)
		if f.Latency != nil {
			out = append(out, way{bySignals(f.Latency, f.Rate),
				means + ", from the server, without the wait for a connection"})
		}
		// Last, because Little's law only gives a mean over all sessions.
		if f.Rule != "" {
			out = append(out, way{byStalls(q, f.Rule), little})
		}
	}

	return out
}

func byStalls(q float64, rule string) func(s *side) measure {
	return func(s *side) measure {
		for _, x := range s.c.Symptoms {
			if x.Rule != rule || x.Latency == nil {
				continue
			}

			// Sessions are counted once a second. A median of 0 s means that most samples caught none: it says
			// nothing about the latency. The p99 is kept even then, because it shows what became worse.
			m := s.quantile(q, x.Latency, x.Ops)
			if m != nil && q <= 0.5 && m.estimate(once(m.units())) == 0 {
				return nil
			}
			return m
		}
		return nil
	}
}

func (s *side) quantile(q float64, values, weights []float64) measure {
	if values == nil || weights == nil || !s.cut.known(values) {
		return nil
	}
	return newPercentile(s.cut, q, values, weights)
}

// overTime reads a signal's mean over time.
func overTime(signal *rules.Signal) func(s *side) measure {
	return func(s *side) measure { return s.mean(s.one(signal)) }
}

func (s *side) mean(values []float64) measure {
	if values == nil || !s.cut.known(values) {
		return nil
	}
	return newQuotient(s.cut, values, ones(len(values)))
}

func ones(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// perEvent reads the accumulated time per completed event.
func perEvent(time, events *rules.Signal) func(s *side) measure {
	return func(s *side) measure {
		num, den := s.one(time), s.one(events)
		if num == nil || den == nil || !s.cut.known(num) || !(timeline.Sum(den) > 0) {
			return nil
		}
		return newQuotient(s.cut, num, den)
	}
}

// operations returns the ways to count completions per second: by a load generator, or by a server.
func operations(pack *rules.Pack) []rules.Operations {
	out := []rules.Operations{{Signals: []*rules.Signal{rules.ClientWrites, rules.ClientReads}}}
	for _, e := range pack.Engines() {
		out = append(out, e.Compared.Operations...)
	}
	return out
}

func operationWays(pack *rules.Pack) []way {
	var out []way
	for _, of := range operations(pack) {
		out = append(out, way{func(s *side) measure { return s.mean(s.operations(of)) }, "mean over time"})
	}
	return out
}

// operations adds up the measured completions; nil if there are none.
func (s *side) operations(of rules.Operations) []float64 {
	var sum []float64
	for _, signal := range of.Signals {
		values := s.one(signal)
		if of.EachCountsAll {
			values = s.busiest(signal)
		}

		switch {
		case values == nil:
		case sum == nil:
			sum = slices.Clone(values)
		default:
			for k, x := range values {
				if !math.IsNaN(x) {
					sum[k] += x
				}
			}
		}
	}

	return sum
}

// busiest returns the series of a signal with the largest sum.
func (s *side) busiest(signal *rules.Signal) []float64 {
	var best []float64
	most := math.Inf(-1)
	for _, t := range s.c.Signal(signal) {
		if sum := timeline.Sum(t.Values); sum > most {
			best, most = t.Values, sum
		}
	}
	return best
}

// checkpointSeconds reads the mean duration of checkpoints, one per cycle.
func checkpointSeconds(s *side) measure {
	if !s.cut.cycles {
		return nil
	}

	step := s.c.Grid.StepSeconds()
	cycle, _ := checkpoints(s.c)
	took, running := cycle.Took, cycle.Cells

	q := &quotient{num: make([]float64, s.cut.n), den: ones(s.cut.n)}
	for k, u := range s.cut.unit {
		switch {
		case u < 0:
		// Without durations, count the time for which a checkpoint ran.
		case took == nil && running[k]:
			q.num[u] += step
		case took != nil && took[k] > 0:
			q.num[u] += float64(took[k] * step)
		}
	}

	return q
}

// classes reads a quantile of durations that were counted in classes, over all instances.
func classes(signal *rules.Signal, q float64) func(s *side) measure {
	return func(one *side) measure {
		counts := &histogram{q: q}
		tracks := one.c.Signal(signal)
		for _, t := range tracks {
			if edge, err := strconv.ParseFloat(t.Labels.Get("le"), 64); err == nil && !slices.Contains(counts.edges, edge) {
				counts.edges = append(counts.edges, edge)
			}
		}

		slices.Sort(counts.edges)

		// Without an infinite class, operations beyond the last one would be missing.
		if len(counts.edges) < 2 || !math.IsInf(counts.edges[len(counts.edges)-1], 1) {
			return nil
		}

		counts.upTo = make([][]float64, one.cut.n)
		for i := range counts.upTo {
			counts.upTo[i] = make([]float64, len(counts.edges))
		}

		step, counted := one.c.Grid.StepSeconds(), 0.0
		for _, t := range tracks {
			edge, err := strconv.ParseFloat(t.Labels.Get("le"), 64)
			if err != nil {
				continue
			}
			e, _ := slices.BinarySearch(counts.edges, edge)
			for k, u := range one.cut.unit {
				if x := t.Values[k]; u >= 0 && !math.IsNaN(x) {
					counts.upTo[u][e] += float64(x * step)
					counted += x
				}
			}
		}

		if counted == 0 {
			return nil
		}

		return counts
	}
}

// onDevice reads a signal's mean over time for the side's device.
func onDevice(signal *rules.Signal) func(s *side) measure {
	return func(s *side) measure {
		return s.mean(s.c.For(signal, "device", s.device))
	}
}

// await reads the mean duration of a write on the side's device, weighted by each cell's writes.
func await(s *side) measure {
	took := s.c.For(rules.DiskWriteAwait, "device", s.device)
	writes := s.c.For(rules.DiskWrites, "device", s.device)
	if took == nil || writes == nil || !s.cut.known(took) {
		return nil
	}
	num := make([]float64, len(took))
	for k := range num {
		num[k] = took[k] * writes[k]
	}
	return newQuotient(s.cut, num, writes)
}

// basisText describes what a figure was computed from, with the interval's length if that matters.
func basisText(w way, step float64) string {
	if strings.HasPrefix(w.basis, summed) || step == 0 {
		return w.basis
	}
	return fmt.Sprintf("%s (intervals of %s)", w.basis, units.Seconds(step))
}
