package iris

import (
	"math"
	"time"

	"plimsoll/engine"
	"plimsoll/vtime"
)

// counters are totals since the start.
type counters struct {
	reads, writes, wijWrites, updates int64 // blocks read and written, writes to the WIJ, updates
	readTime                          time.Duration
}

// sampled is how the counters stood when they were sampled last: IRIS reports rates, not totals.
type sampled struct {
	at vtime.Instant
	counters
}

// names are IRIS's (/api/monitor/metrics), in the order sampled.
var names = [...]string{
	"iris_wd_cycle_time", "iris_wd_sleep", "iris_wdwij_time", "iris_wd_write_time", // ms
	"iris_wd_temp_queue", "iris_wd_temp_write", // blocks
	"iris_wij_writes_per_sec", "iris_phys_reads_per_sec", "iris_phys_writes_per_sec", "iris_glo_update_per_sec",
	"iris_db_latency", // ms
}

// Metrics are those of /api/monitor/metrics that the model has.
func (x *Instance) Metrics() []engine.Metric {
	out := make([]engine.Metric, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return out
}

// Sample writes the present values of Metrics. Rates and the read latency are over the time since
// it was called last, as IRIS's are since its last collection. Before the first cycle
// its times are missing; so is the latency while nothing is read.
func (x *Instance) Sample(values []float64) {
	now, last, d := x.clock.Now(), &x.sampled, &x.daemon.last
	rate := func(total, before int64) float64 {
		if now == last.at {
			return math.NaN()
		}
		return float64(total-before) / now.Sub(last.at).Seconds()
	}
	latency := math.NaN()
	if n := x.counters.reads - last.reads; n > 0 {
		latency = milliseconds(x.counters.readTime-last.readTime) / float64(n)
	}
	for i, v := range [len(names)]float64{
		d.cycle, d.sleep, d.wij, d.database, d.queued, d.written,
		rate(x.counters.wijWrites, last.wijWrites), rate(x.counters.reads, last.reads),
		rate(x.counters.writes, last.writes), rate(x.counters.updates, last.updates),
		latency,
	} {
		values[i] = v
	}
	*last = sampled{now, x.counters}
}
