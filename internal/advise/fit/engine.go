package fit

import (
	"math"
	"slices"

	"plimsoll/internal/model/engine"
)

// An Engine is a storage engine that can be fitted.
type Engine interface {
	engine.Engine
	// Fit enters the engine's and the workload's values: those of the host are entered, those of
	// volumes follow. It fails with a [*ShortError] or a [*MissingError].
	Fit(*Fitting) error
}

// A LogSyncer is an Engine whose recordings say how often its log was synced: the log's device is
// then told by how often it was written.
type LogSyncer interface {
	// LogSyncs is how often, 1/s; NaN if this recording does not say it.
	LogSyncs(*Fitting) float64
}

// A Leading is an Engine that is a cluster: what is fitted are the volumes of its leader.
type Leading interface {
	// Leader is the member whose devices are called so: "m1".
	Leader(*Fitting) string
}

// A DeviceTeller is an Engine that says itself what its host's devices did.
type DeviceTeller interface {
	// DeviceMetric is one of the metrics, and who gives them.
	DeviceMetric() (metric, from string)
}

// volumesOf are an engine's volumes, its log's last.
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

// needs reports whether an engine cannot do without a volume.
func needs(e Engine, volume string) bool {
	return slices.ContainsFunc(e.Traits().Volumes, func(r engine.Role) bool { return r.Name == volume && r.Needed })
}

// syncs is how often the engine's log was synced, NaN if that is not known.
func (f *Fitting) syncs() float64 {
	if s, ok := f.engine.(LogSyncer); ok {
		return s.LogSyncs(f)
	}
	return math.NaN()
}
