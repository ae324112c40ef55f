package fit

import (
	"math"
	"slices"

	"plimsoll/internal/model/engine"
)

// An Engine is what a fit needs of a storage engine.
type Engine struct {
	// Fit enters the engine's and the workload's values. Those of the host were entered before,
	// those of volumes follow. It fails with a [*ShortError] or a [*MissingError].
	Fit func(*Fitting) error
	// LogSyncs is how often the engine's log was synced, 1/s, and NaN if this recording does not say;
	// the log's device is then recognised by how often it was written. Nil: no recording says.
	LogSyncs func(*Fitting) float64
	// Leader is the member in the names of the leader's devices, whose volumes are fitted: "m1". Nil:
	// the engine is not a cluster.
	Leader func(*Fitting) string
	// DeviceMetric is a metric by which the engine itself reports what its host's devices did, and
	// DeviceMetricFrom where that comes from; "": it does not.
	DeviceMetric, DeviceMetricFrom string
}

// volumesOf returns an engine's volumes, its log's last.
func volumesOf(t engine.Traits) []string {
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
func needs(t engine.Traits, volume string) bool {
	return slices.ContainsFunc(t.Volumes, func(r engine.Role) bool { return r.Name == volume && r.Needed })
}

// syncs is how often the engine's log was synced, NaN if unknown.
func (f *Fitting) syncs() float64 {
	if f.engine.Part.LogSyncs != nil {
		return f.engine.Part.LogSyncs(f)
	}
	return math.NaN()
}
