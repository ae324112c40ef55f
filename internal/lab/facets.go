package lab

import (
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
