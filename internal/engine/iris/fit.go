package iris

import (
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine/iris/advise"
)

// Fit makes a scenario of a recording.
func (Engine) Fit(f *fit.Fitting) error { return advise.Fit(f) }
