package existing

import (
	"context"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// A PerfLoad describes the load of a check.
type PerfLoad struct {
	Name     string // s, m, l or xl
	Duration time.Duration
	Seed     random.Seed
	// Progress, if not nil, is called about once a second.
	Progress func(done, all time.Duration, rate units.Frequency, p99 units.Duration)
}

// A PerfCheck is one check of a server.
type PerfCheck struct {
	// Inspect connects and reports what the check is going to do; it writes nothing.
	Inspect func(ctx context.Context) (*Intent, error)
	// Run runs the check and removes what it created, however it ends.
	Run func(ctx context.Context) (*PerfResult, error)
}

// A PerfResult is the outcome of a check.
type PerfResult struct {
	// JSON is one of the engine's contracts.
	JSON any
	// Met reports whether no criterion failed.
	Met bool
	// Document is the human-readable result.
	Document *document.Document
}
