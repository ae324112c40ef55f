// Package etcd is all that Plimsoll knows of etcd: its traits, and in the packages below its model,
// its live source, its rules and its real server.
package etcd

import "plimsoll/internal/model/engine"

// Engine is etcd.
type Engine struct{}

// Traits are etcd's.
func (Engine) Traits() engine.Traits {
	return engine.Traits{
		Key: "etcd", Product: "etcd", Database: "etcd", Cycle: "backend commit",
		Volumes: []engine.Role{{Name: "data", Needed: true}, {Name: "wal", Log: true}},
		Cache:   "",
	}
}
