package lab

import (
	"context"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/present/document"
)

// An Engine provides what the lab needs to run a storage engine on emulated volumes.
type Engine struct {
	// New prepares the real engine of a scenario, without starting anything.
	New func(sc *scenario.Scenario) (Server, error)
	// Program can be supplied by the user instead; nil: not supported.
	Program *Program
}

// A Program is supplied by the user, in place of the one that the lab runs by default.
type Program struct {
	// Flag is its command-line flag, and Usage the flag's help.
	Flag, Usage string
	// Missing says what to do if the program is not installed.
	Missing string
	// New prepares the server for the program at a path, or with a name on PATH.
	New func(path string, sc *scenario.Scenario) (Server, error)
}

// BucketBench measures what bucket documents cost in an engine.
type BucketBench struct {
	// Defaults are the measurements made if none are requested.
	Defaults func() Buckets
	// Check reports requests that cannot be measured.
	Check func(b *Buckets) inputerror.List
	// Measure runs the engine. It leaves nothing behind, even if it fails.
	Measure func(ctx context.Context, b Buckets) (*BucketResult, error)
}

// Buckets configures the measurement of bucket documents.
type Buckets struct {
	Language  *scenario.Language // the scenario's; needed to run
	Entries   []int              // readings of a full document, for each granularity
	Sensors   int                // documents that receive pushes
	Sustained units.Duration     // how long the writers push
	Sets      []string           // assignments over the built-in scenario
	// Daemon is how to start the process that serves the volume; nil: this program's `lab serve`.
	Daemon   []string
	Progress func(what string, done, total int) // nil: progress is not reported
	Log      func(line string)                  // receives the engine's output; nil: discarded
}

// A BucketResult is the measured table.
type BucketResult struct {
	// JSON is one of the engine's contracts.
	JSON any
	// Document is the human-readable table.
	Document *document.Document
}
