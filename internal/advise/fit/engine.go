package fit

import (
	"math"
	"slices"

	"plimsoll/internal/model/database"
)

// An Engine is what fit needs to know about a storage engine.
type Engine struct {
	// Fit adds the engine's and the workload's values, after those of the host and before those of the
	// volumes. It fails with a [*ShortError] or a [*MissingError].
	Fit func(*Fitting) error
	// LogSyncs returns the rate of the log's syncs in 1/s, NaN if this recording lacks it. It identifies
	// the log's device, which is written about as often. Nil: no recording of the engine has it.
	LogSyncs func(*Fitting) float64
	// Leader returns the leader's prefix in device names, "m1", to fit the leader's volumes. Nil: the
	// engine is not a cluster.
	Leader func(*Fitting) string
	// DeviceMetric is a metric by which the engine itself reports the I/O of its host's devices, and
	// DeviceMetricFrom its source; "": none.
	DeviceMetric, DeviceMetricFrom string
}

// volumesOf returns an engine's volumes, the log volume last.
func volumesOf(t database.Traits) []string {
	var out []string
	for _, r := range t.Volumes {
		if !r.Log {
			out = append(out, r.Name)
		}
	}
	if log := t.Log(); log != "" {
		out = append(out, log)
	}
	return out
}

// needs reports whether an engine requires a volume.
func needs(t database.Traits, volume string) bool {
	return slices.ContainsFunc(t.Volumes, func(r database.Role) bool { return r.Name == volume && r.Needed })
}

// syncs returns the rate of the log's syncs, NaN if unknown.
func (f *Fitting) syncs() float64 {
	if f.engine.Part.LogSyncs != nil {
		return f.engine.Part.LogSyncs(f)
	}
	return math.NaN()
}
