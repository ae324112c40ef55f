package lab

import (
	"context"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/present/document"
)

// An Engine is what the lab needs of a storage engine, to run it on emulated volumes.
type Engine struct {
	// New prepares the real engine of a scenario. It starts nothing yet.
	New func(sc *scenario.Scenario) (Server, error)
	// Program is one that the user may supply instead; nil: there is none.
	Program *Program
}

// A Program is one that the user supplies, instead of the one that the lab runs.
type Program struct {
	// Flag is its command-line flag, and Usage the flag's help.
	Flag, Usage string
	// Missing says what to do if the program is not installed.
	Missing string
	// New prepares the server of the program at a path, or of a name on PATH.
	New func(path string, sc *scenario.Scenario) (Server, error)
}

// BucketBench measures what bucket documents cost in an engine.
type BucketBench struct {
	// Defaults are what to measure if nothing else is asked for.
	Defaults func() Buckets
	// Check reports what cannot be measured.
	Check func(b *Buckets) diagnostics.List
	// Measure runs the engine. It leaves nothing behind, even if it fails.
	Measure func(ctx context.Context, b Buckets) (*BucketResult, error)
}

// Buckets says which bucket documents are measured, and how.
type Buckets struct {
	Language  *scenario.Language // the scenario's; needed to run
	Entries   []int              // readings of a full document, for each granularity
	Sensors   int                // documents that are pushed to
	Sustained units.Duration     // for how long the writers push
	Sets      []string           // assignments over the built-in scenario
	// Daemon is how to start the process that serves the volume; nil: this program's `lab serve`.
	Daemon   []string
	Progress func(what string, done, total int) // nil: progress is not reported
	Log      func(line string)                  // takes what the engine prints; nil: discarded
}

// A BucketResult is the measured table.
type BucketResult struct {
	// JSON is one of the engine's contracts.
	JSON any
	// Document is the table for people.
	Document *document.Document
}
