package postgres

import (
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine/postgres/advise"
)

// Fit makes a scenario of a recording.
func (Engine) Fit(f *fit.Fitting) error { return advise.Fit(f) }
