package catalog

import "sync/atomic"

var current atomic.Pointer[Catalog]

// Current is the catalogue that Instance, Order.Monthly and other lookups use: the embedded one, unless
// Use set another.
func Current() *Catalog {
	if c := current.Load(); c != nil {
		return c
	}
	return Embedded()
}

// Use makes a catalogue the current one; nil restores the embedded one. A program calls it once,
// with its user's imports, before any lookup. No package calls it, so the same scenario means the
// same in every test.
func Use(c *Catalog) { current.Store(c) }
