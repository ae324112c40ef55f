package model

import (
	"math"
	"time"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
)

// counters are totals since the start.
type counters struct {
	reads, writes, wijWrites int64 // blocks read and written, writes to the WIJ
	references, updates      int64 // of globals; an update is a reference as well
	readTime                 time.Duration
}

// A window is the last whole second, because IRIS reports rates, not totals.
type window struct {
	second      int64    // the current one
	start, last counters // the totals at its start, and at the start of the previous second
}

// roll moves on to a new second. It is called before the counters change, so that a second's
// content does not depend on when it is sampled.
func (w *window) roll(now vtime.Instant, totals *counters) {
	s := int64(now) / 1e9
	if s == w.second {
		return
	}
	w.last = w.start
	if s > w.second+1 {
		w.last = *totals // nothing happened in the last second
	}
	w.start, w.second = *totals, s
}

// names are IRIS' metric names (/api/monitor/metrics), in the order of samples.
var names = [...]string{
	"iris_wd_cycle_time", "iris_wd_sleep", "iris_wdwij_time", "iris_wd_write_time", // ms
	"iris_wd_temp_queue", "iris_wd_temp_write", // blocks
	"iris_wij_writes_per_sec", "iris_phys_reads_per_sec", "iris_phys_writes_per_sec", "iris_glo_update_per_sec",
	"iris_glo_ref_per_sec",
	"iris_db_latency", // ms
}

// Metrics returns the metrics of /api/monitor/metrics that the model has.
func (x *Instance) Metrics() []database.Metric {
	out := make([]database.Metric, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return out
}

// Sample writes the current values of Metrics. Rates and the read latency are those of the last
// whole second. Cycle times are missing before the first cycle, and the latency if nothing was
// read.
func (x *Instance) Sample(values []float64) {
	x.window.roll(x.clock.Now(), &x.counters)
	is, was, d := &x.window.start, &x.window.last, &x.daemon.last
	latency := math.NaN()

	if n := is.reads - was.reads; n > 0 {
		latency = milliseconds(is.readTime-was.readTime) / float64(n)
	}

	for i, v := range [len(names)]float64{
		d.cycle, d.sleep, d.wij, d.database, d.queued, d.written,
		float64(is.wijWrites - was.wijWrites), float64(is.reads - was.reads),
		float64(is.writes - was.writes), float64(is.updates - was.updates),
		float64(is.references - was.references),
		latency,
	} {
		values[i] = v
	}
}

// count returns the counters of the current second.
func (x *Instance) count() *counters {
	x.window.roll(x.clock.Now(), &x.counters)
	return &x.counters
}
