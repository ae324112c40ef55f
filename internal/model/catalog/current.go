package catalog

import "sync/atomic"

var current atomic.Pointer[Catalog]

// Current is the catalogue that Instance, Order.Monthly and the like look into: the embedded one,
// unless Use gave another.
func Current() *Catalog {
	if c := current.Load(); c != nil {
		return c
	}
	return Embedded()
}

// Use makes a catalogue the current one, nil the embedded one again. A program calls it once,
// before it looks anything up, with what its user has imported; no package does by itself, so that
// the same scenario means the same in every test.
func Use(c *Catalog) { current.Store(c) }
