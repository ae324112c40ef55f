package etcd

import (
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine/etcd/advise"
)

// Fit makes a scenario of a recording.
func (Engine) Fit(f *fit.Fitting) error { return advise.Fit(f) }

// LogSyncs is how often the engine's log was synced, 1/s.
func (Engine) LogSyncs(f *fit.Fitting) float64 { return advise.LogSyncs(f) }

// Leader is the member that led.
func (Engine) Leader(f *fit.Fitting) string { return advise.Leader(f) }
