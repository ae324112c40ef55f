// Package postgres is all that Plimsoll knows of PostgreSQL: its traits, and in the packages below its model,
// its live source, its rules and its real server.
package postgres

import "plimsoll/internal/model/engine"

// Engine is PostgreSQL.
type Engine struct{}

// Traits are PostgreSQL's.
func (Engine) Traits() engine.Traits {
	return engine.Traits{
		Key: "postgres", Product: "PostgreSQL", Database: "postgres", Cycle: "checkpoint",
		Volumes: []engine.Role{{Name: "data", Needed: true}, {Name: "wal", Log: true}},
		Cache:   "shared_buffers",
	}
}
