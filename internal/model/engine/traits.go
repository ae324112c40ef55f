package engine

import (
	"fmt"
	"slices"
	"strings"
)

// An Engine is everything the program knows about one storage engine: one folder under
// internal/engine.
//
// A core (scenarios, simulation, rules, plans, the lab, ...) never names one. It declares a small
// interface with what it must know. Engines implement the interfaces they can, and [Facets] finds
// those that do. If an engine lacks a facet, [LackError] says so; the engine is never treated as
// some other engine.
type Engine interface {
	Traits() Traits
}

// Traits are what every part of the program may know about an engine, as data.
type Traits struct {
	// Key names the engine in scenarios: engine: {KEY: {...}}.
	Key string
	// Product is its name for people: "PostgreSQL".
	Product string
	// Database names the engine in recordings and rules; "" if it is not a database.
	Database string
	// Cycle is its word for the recurring burst of writing: "checkpoint".
	Cycle string
	// Volumes are those it uses, the most important first.
	Volumes []Role
	// Cache is the key of the setting that sizes its own cache, "" if it has none.
	Cache string
	// About describes the engine and its volumes in the scenarios' JSON Schema.
	About string
	// FieldDocs are the comments of its settings as JSON, by type and field ("Config.Cache").
	FieldDocs []byte
}

// A Role is what a volume is for.
type Role struct {
	// Name of the volume in scenarios: "data", "wal".
	Name string
	// Log means that the engine's log is there, which every acknowledged write waits for.
	Log bool
	// Needed means that the volume is required; of several that are OneOf, one is enough.
	Needed, OneOf bool
}

// Log returns the name of the volume that the log may have for itself, "" if the engine has none.
func (t Traits) Log() string {
	if i := slices.IndexFunc(t.Volumes, func(r Role) bool { return r.Log }); i >= 0 {
		return t.Volumes[i].Name
	}
	return ""
}

// Facets returns the engines that implement a core's interface, in the list's order.
func Facets[T any](all []Engine) []T {
	var out []T
	for _, e := range all {
		if f, ok := e.(T); ok {
			out = append(out, f)
		}
	}
	return out
}

// Facet returns a core's facet of the engine with a key. The error is a [*LackError] if the engine
// lacks the facet or no engine has that key.
func Facet[T any](all []Engine, key, verb string) (T, error) {
	var none T
	var have []string
	for _, e := range all {
		f, ok := e.(T)
		if ok && e.Traits().Key == key {
			return f, nil
		}
		if ok {
			have = append(have, e.Traits().Key)
		}
	}
	return none, &LackError{Key: key, Verb: verb, Have: have}
}

// A LackError says that an engine cannot do what a verb asks.
type LackError struct {
	Key  string   // the engine's, in scenarios
	Verb string   // what was to be done, as it follows "cannot": "run in the lab"
	Have []string // the engines that can
}

func (e *LackError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("%s cannot %s, and no other engine can", e.Key, e.Verb)
	}
	return fmt.Sprintf("%s cannot %s; these can: %s", e.Key, e.Verb, strings.Join(e.Have, ", "))
}
