package existing

import (
	"context"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
)

// A PerfEngine is one whose servers can be checked by the criteria of its own tools.
type PerfEngine interface {
	Engine
	// NewPerfCheck prepares a check. Nothing is asked yet.
	NewPerfCheck(opt Options, load PerfLoad) (PerfCheck, error)
}

// A PerfLoad is what a check asks of a server.
type PerfLoad struct {
	Name     string // s, m, l or xl
	Duration time.Duration
	Seed     random.Seed
	// Progress, if not nil, is told about once a second.
	Progress func(done, all time.Duration, rate units.Frequency, p99 units.Duration)
}

// A PerfCheck is one check of a server.
type PerfCheck interface {
	// Inspect connects and says what the check is going to do; it writes nothing.
	Inspect(ctx context.Context) (*Intent, error)
	// Run checks, and removes what it made, however it ends.
	Run(ctx context.Context) (PerfResult, error)
}

// A PerfResult is what came of a check. As JSON it is a contract of the engine's.
type PerfResult interface {
	// Met tells whether no criterion failed.
	Met() bool
	// Text is the result as a page. What a server said goes through printable.
	Text(printable func(string) string) string
}
