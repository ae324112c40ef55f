package mongodb

import (
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine/mongodb/advise"
)

// Fit makes a scenario of a recording.
func (Engine) Fit(f *fit.Fitting) error { return advise.Fit(f) }

// LogSyncs is how often the engine's log was synced, 1/s.
func (Engine) LogSyncs(f *fit.Fitting) float64 { return advise.LogSyncs(f) }

// DeviceMetric is what a mongod says of its host's devices.
func (Engine) DeviceMetric() (metric, from string) {
	return "mongodb_sys_disks_writes", "diagnostic.data of a mongod on Linux"
}
