// Package iris is all that Plimsoll knows of InterSystems IRIS: its traits, and in the packages below its model,
// its live source, its rules and its real server.
package iris

import "plimsoll/internal/model/engine"

// Engine is InterSystems IRIS.
type Engine struct{}

// Traits are InterSystems IRIS's.
func (Engine) Traits() engine.Traits {
	return engine.Traits{
		Key: "iris", Product: "InterSystems IRIS", Database: "iris", Cycle: "write daemon cycle",
		Volumes: []engine.Role{{Name: "data", Needed: true}, {Name: "wij"}, {Name: "journal", Log: true}},
		Cache:   "buffers",
	}
}
