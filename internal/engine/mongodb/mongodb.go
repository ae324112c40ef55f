// Package mongodb is all that Plimsoll knows of MongoDB: its traits, and in the packages below its model,
// its live source, its rules and its real server.
package mongodb

import "plimsoll/internal/model/engine"

// Engine is MongoDB.
type Engine struct{}

// Traits are MongoDB's.
func (Engine) Traits() engine.Traits {
	return engine.Traits{
		Key: "wiredtiger", Product: "MongoDB", Database: "mongodb", Cycle: "checkpoint",
		Volumes: []engine.Role{{Name: "data", Needed: true}, {Name: "journal", Log: true}},
		Cache:   "cache",
	}
}
