package fit

import (
	"math"
	"slices"

	"plimsoll/internal/model/engine"
)

// An Engine is a storage engine that can be fitted.
type Engine interface {
	engine.Engine
	// Fit enters the engine's and the workload's values. Those of the host were entered before,
	// those of volumes follow. It fails with a [*ShortError] or a [*MissingError].
	Fit(*Fitting) error
}

// A LogSyncer is an Engine whose recordings say how often its log was synced; the log's device is
// then recognised by how often it was written.
type LogSyncer interface {
	// LogSyncs is how often, 1/s; NaN if this recording does not say.
	LogSyncs(*Fitting) float64
}

// A Leading is an Engine that is a cluster: the volumes of its leader are fitted.
type Leading interface {
	// Leader is the member in the names of the leader's devices: "m1".
	Leader(*Fitting) string
}

// A DeviceTeller is an Engine that itself reports what its host's devices did.
type DeviceTeller interface {
	// DeviceMetric is one of the metrics, and where it comes from.
	DeviceMetric() (metric, from string)
}

// volumesOf returns an engine's volumes, its log's last.
func volumesOf(e Engine) []string {
	t := e.Traits()
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
func needs(e Engine, volume string) bool {
	return slices.ContainsFunc(e.Traits().Volumes, func(r engine.Role) bool { return r.Name == volume && r.Needed })
}

// syncs is how often the engine's log was synced, NaN if unknown.
func (f *Fitting) syncs() float64 {
	if s, ok := f.engine.(LogSyncer); ok {
		return s.LogSyncs(f)
	}
	return math.NaN()
}
