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

// What is wanted of a figure.
const (
	wantLess    = "less"
	wantMore    = "more"
	wantNeither = "neither"
)

// A kind is a figure that recordings may tell.
type kind struct {
	name, title, unit, wanted string
	// felt is what clients feel: by these a change is called better or worse as a whole.
	felt bool
	// ways are how to read it, the most exact first. Both recordings are read in the same way.
	ways []way
}

// A way reads a figure from a side; the measure is nil if the side does not tell it. basis says what it is computed from.
type way struct {
	of    func(s *side) measure
	basis string
}

const (
	summed = "histogram, summed over the run"
	means  = "percentile of means: of each interval's mean, weighted by its operations"
	little = "percentile of means: of sessions executing over commits a second (Little's law), weighted by commits"
)

// kinds are all figures, those that clients feel first.
func kinds() []kind {
	out := []kind{
		{"write_p50", "write p50", "seconds", wantLess, true, latencies(0.5, "client_write", "mongodb_write", "postgres/commit-stall")},
		{"write_p99", "write p99", "seconds", wantLess, true, latencies(0.99, "client_write", "mongodb_write", "postgres/commit-stall")},
		{"write_p999", "write p99.9", "seconds", wantLess, true, []way{felt("client_write", 0.999)}},
		{"read_p50", "read p50", "seconds", wantLess, true, latencies(0.5, "client_read", "mongodb_read", "")},
		{"read_p99", "read p99", "seconds", wantLess, true, latencies(0.99, "client_read", "mongodb_read", "")},
		{"read_p999", "read p99.9", "seconds", wantLess, true, []way{felt("client_read", 0.999)}},
		{"stalled", "stalled an hour", "seconds/h", wantLess, true, []way{{stalled, "stalled intervals, as diagnose finds them"}}},
		{"wal_fsync_p99", "WAL fsync p99", "seconds", wantLess, true, []way{{classes("etcd_wal_fsync_classes:rate", 0.99), summed}}},
		{"backend_commit_p99", "backend commit p99", "seconds", wantLess, true, []way{{classes("etcd_backend_commit_classes:rate", 0.99), summed}}},
		{"journal_sync", "journal sync", "seconds", wantLess, false, []way{{perEvent("wt_log_sync_time:ratio", "wt_log_syncs:rate"), "mean"}}},
		{"checkpoint", "checkpoint", "seconds", wantLess, false, []way{
			{checkpointSeconds, "mean"}, {overTime("iris_write_daemon_cycle:seconds"), "mean over time of the last cycle's"}}},
		{"operations", "operations", "1/s", wantMore, false, operationWays()},
		{"app_evictions", "app evictions", "1/s", wantLess, false, []way{{overTime("wt_app_evictions:rate"), "mean over time"}}},
		{"dirty_bytes", "dirty in cache", "bytes", wantNeither, false, []way{{overTime("wt_dirty:bytes"), "mean over time"}}},
		{"page_cache_dirty", "page cache dirty", "bytes", wantNeither, false, []way{{overTime("memory_dirty:bytes"), "mean over time"}}},
	}
	return append(out,
		kind{"iops", "device IOPS", "1/s", wantNeither, false, []way{{onDevice("disk_ops:rate"), "mean over time"}}},
		kind{"throughput", "device throughput", "bytes/s", wantNeither, false, []way{{onDevice("disk_moved:bytes"), "mean over time"}}},
		kind{"utilisation", "device busy", "ratio", wantLess, false, []way{{onDevice("disk_busy:ratio"), "mean over time"}}},
		kind{"await", "device write await", "seconds", wantLess, false, []way{{await, "mean of writes"}}},
	)
}

// one is a signal's one series, or the sum of several; nil if it was not measured.
func (s *side) one(signal string) []float64 { return s.c.One(rules.SignalPrefix + signal) }

// felt is a percentile of all latencies from the intended starts, by the histogram that a simulation and the laboratory record. Only
// this way tells a p99.9: of means of a second it would be that of the worst second.
func felt(driver string, q float64) way {
	return way{classes(driver+"_classes:rate", q), summed + ", from the intended starts"}
}

// latencies are the ways to a percentile of operations' latency: as a driver counted each of them, as it summed them, as the
// server did, and by a symptom's detector.
func latencies(q float64, driver, server, symptom string) []way {
	bySignals := func(prefix string) func(s *side) measure {
		return func(s *side) measure {
			return s.quantile(q, s.one(prefix+"_latency:seconds"), s.one(prefix+"s:rate"))
		}
	}
	return []way{
		felt(driver, q),
		{bySignals(driver), means + ", as the driver counted them"},
		{bySignals(server), means + ", as the server counted them: without what waited before it, for a connection"},
		{func(s *side) measure {
			for _, x := range s.c.Symptoms {
				if x.Rule == symptom && x.Latency != nil {
					return s.quantile(q, x.Latency, x.Ops)
				}
			}
			return nil
		}, little},
	}
}

func (s *side) quantile(q float64, values, weights []float64) measure {
	if values == nil || weights == nil || !s.cut.known(values) {
		return nil
	}
	return newPercentile(s.cut, q, values, weights)
}

// overTime is a signal's mean over time.
func overTime(signal string) func(s *side) measure {
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

// perEvent is time credited over events ended.
func perEvent(time, events string) func(s *side) measure {
	return func(s *side) measure {
		num, den := s.one(time), s.one(events)
		if num == nil || den == nil || !s.cut.known(num) || !(timeline.Sum(den) > 0) {
			return nil
		}
		return newQuotient(s.cut, num, den)
	}
}

// operationSignals are completions a second: what a driver or a server counted.
var operationSignals = [][]string{
	{"client_writes:rate", "client_reads:rate"},
	{"mongodb_writes:rate", "mongodb_reads:rate"},
	{"mongodb_write_counters:rate"}, {"postgres_commits:rate"}, {"etcd_proposals_committed:rate"}, {"iris_global_updates:rate"},
}

func operationWays() []way {
	var out []way
	for _, names := range operationSignals {
		out = append(out, way{func(s *side) measure { return s.mean(s.operations(names)) }, "mean over time"})
	}
	return out
}

// operations adds up the completions that are told; nil if none are.
func (s *side) operations(names []string) []float64 {
	var sum []float64
	for _, name := range names {
		values := s.one(name)
		if name == "etcd_proposals_committed:rate" {
			values = s.busiest(rules.SignalPrefix + name) // each member counts all of them
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

// busiest is the series of a signal with the largest sum.
func (s *side) busiest(signal string) []float64 {
	var best []float64
	most := math.Inf(-1)
	for _, t := range s.c.Signal(signal) {
		if sum := timeline.Sum(t.Values); sum > most {
			best, most = t.Values, sum
		}
	}
	return best
}

// stalled is stalled seconds an hour of watched time.
func stalled(s *side) measure {
	if s.c.Stall.Rule == "" || s.c.Stall.Observed.Count() == 0 {
		return nil
	}
	num, den := make([]float64, s.c.Grid.N), make([]float64, s.c.Grid.N)
	for k := range num {
		if s.c.Stall.Observed[k] {
			den[k] = 1
		}
		if s.c.Stall.Cells[k] {
			num[k] = 3600
		}
	}
	return newQuotient(s.cut, num, den)
}

// checkpointSeconds is the mean duration of the checkpoints, one a cycle.
func checkpointSeconds(s *side) measure {
	if !s.cut.cycles {
		return nil
	}
	step := s.c.Grid.StepSeconds()
	took := s.one("wt_checkpoint_time:ratio")
	if _, write, sync, ok := s.c.PostgresCheckpoints(); took == nil && ok {
		took = make([]float64, len(write))
		for k := range took {
			took[k] = write[k] + sync[k]
		}
	}
	running, _ := checkpoints(s.c)
	q := &quotient{num: make([]float64, s.cut.n), den: ones(s.cut.n)}
	for k, u := range s.cut.unit {
		switch {
		case u < 0:
		case took == nil && running[k]:
			q.num[u] += step
		case took != nil && took[k] > 0:
			q.num[u] += float64(took[k] * step)
		}
	}
	return q
}

// classes is a quantile of durations that are kept in classes, over all instances.
func classes(signal string, q float64) func(s *side) measure {
	return func(s *side) measure {
		h := &histogram{q: q}
		tracks := s.c.Signal(rules.SignalPrefix + signal)
		for _, t := range tracks {
			if edge, err := strconv.ParseFloat(t.Labels.Get("le"), 64); err == nil && !slices.Contains(h.edges, edge) {
				h.edges = append(h.edges, edge)
			}
		}
		slices.Sort(h.edges)
		if len(h.edges) < 2 || !math.IsInf(h.edges[len(h.edges)-1], 1) {
			return nil
		}
		h.upTo = make([][]float64, s.cut.n)
		for i := range h.upTo {
			h.upTo[i] = make([]float64, len(h.edges))
		}
		step, counted := s.c.Grid.StepSeconds(), 0.0
		for _, t := range tracks {
			edge, err := strconv.ParseFloat(t.Labels.Get("le"), 64)
			if err != nil {
				continue
			}
			e, _ := slices.BinarySearch(h.edges, edge)
			for k, u := range s.cut.unit {
				if x := t.Values[k]; u >= 0 && !math.IsNaN(x) {
					h.upTo[u][e] += float64(x * step)
					counted += x
				}
			}
		}
		if counted == 0 {
			return nil
		}
		return h
	}
}

// onDevice is a signal's mean over time, of the busiest device.
func onDevice(signal string) func(s *side) measure {
	return func(s *side) measure {
		return s.mean(s.c.For(rules.SignalPrefix+signal, "device", s.device))
	}
}

// await is the mean time of a write at the busiest device: each cell's weighs as many writes as it had.
func await(s *side) measure {
	took := s.c.For(rules.SignalPrefix+"disk_write_await:seconds", "device", s.device)
	writes := s.c.For(rules.SignalPrefix+"disk_writes:rate", "device", s.device)
	if took == nil || writes == nil || !s.cut.known(took) {
		return nil
	}
	num := make([]float64, len(took))
	for k := range num {
		num[k] = took[k] * writes[k]
	}
	return newQuotient(s.cut, num, writes)
}

// busiestDevice is the device that moved the most bytes.
func busiestDevice(c *rules.Case) string {
	best, high := "", -1.0
	for _, t := range c.Signal(rules.SignalPrefix + "disk_moved:bytes") {
		if s := timeline.Sum(t.Values); s > high {
			best, high = t.Labels.Get("device"), s
		}
	}
	return best
}

// basisText says what a figure was computed from, with the length of an interval where it matters.
func basisText(w way, step float64) string {
	if strings.HasPrefix(w.basis, summed) || step == 0 {
		return w.basis
	}
	return fmt.Sprintf("%s (intervals of %s)", w.basis, units.Seconds(step))
}
