package lab

import (
	"context"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// An Engine is one that the lab can run on emulated volumes.
type Engine interface {
	engine.Engine
	// NewServer prepares the real engine of a scenario. Nothing is started yet.
	NewServer(sc *scenario.Scenario) (Server, error)
}

// A ProgramEngine is one that the lab can run from a program of a person's own.
type ProgramEngine interface {
	engine.Engine
	Program() Program
}

// A Program is one of a person's own, instead of that which the lab runs.
type Program struct {
	// Flag names it on the command line, and Usage is the flag's help.
	Flag, Usage string
	// Missing is what to do where it is not there.
	Missing string
	// New prepares the server of the program at a path, or of a name on PATH.
	New func(path string, sc *scenario.Scenario) (Server, error)
}

// A BucketEngine is one in which the cost of bucket documents can be measured.
type BucketEngine interface {
	engine.Engine
	// Buckets are measured unless somebody asks for others.
	Buckets() Buckets
	// CheckBuckets finds what cannot be measured.
	CheckBuckets(b *Buckets) diagnostics.List
	// MeasureBuckets runs the engine. Whatever comes, nothing of it stays behind.
	MeasureBuckets(ctx context.Context, b Buckets) (BucketResult, error)
}

// Buckets say which bucket documents are measured, and how.
type Buckets struct {
	Language  *scenario.Language // of the scenario; needed to run
	Entries   []int              // readings of a full document, for each granularity
	Sensors   int                // documents that are pushed to
	Sustained units.Duration     // for how long the writers push
	Sets      []string           // assignments over the built-in scenario
	// Daemon is how the process that serves the volume is started; nil: this program's `lab serve`.
	Daemon   []string
	Progress func(what string, done, total int) // nil: nobody is told
	Log      func(line string)                  // nil: nobody takes what the engine prints
}

// A BucketResult is the table that was measured.
type BucketResult interface {
	// JSON is a contract of the engine's.
	JSON() any
	// Text is the table as a page; paragraph wraps a text behind a prefix.
	Text(paragraph func(prefix, text string) string) string
}
