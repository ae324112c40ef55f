package existing

import (
	"context"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// A PerfEngine can check its servers by the criteria of the engine's own tools.
type PerfEngine interface {
	Engine
	// NewPerfCheck prepares a check. It sends nothing yet.
	NewPerfCheck(opt Options, load PerfLoad) (PerfCheck, error)
}

// A PerfLoad is the load of a check.
type PerfLoad struct {
	Name     string // s, m, l or xl
	Duration time.Duration
	Seed     random.Seed
	// Progress, if not nil, is called about once a second.
	Progress func(done, all time.Duration, rate units.Frequency, p99 units.Duration)
}

// A PerfCheck is one check of a server.
type PerfCheck interface {
	// Inspect connects and reports what the check is going to do; it writes nothing.
	Inspect(ctx context.Context) (*Intent, error)
	// Run runs the check and removes what it created, however it ends.
	Run(ctx context.Context) (PerfResult, error)
}

// A PerfResult is the outcome of a check. Its JSON is one of the engine's contracts.
type PerfResult interface {
	// Met reports whether no criterion failed.
	Met() bool
	// Document is the result for people.
	Document() *document.Document
}
