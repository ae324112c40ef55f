// Package streams is all that Plimsoll knows of I/O streams: its traits, and in the packages below its model,
// its live source, its rules and its real server.
package streams

import "plimsoll/internal/model/engine"

// Engine is I/O streams.
type Engine struct{}

// Traits are I/O streams's.
func (Engine) Traits() engine.Traits {
	return engine.Traits{
		Key: "streams", Product: "I/O streams", Database: "", Cycle: "checkpoint",
		Volumes: []engine.Role{{Name: "wal", OneOf: true, Log: true}, {Name: "data", OneOf: true}, {Name: "journal"}},
		Cache:   "",
	}
}
