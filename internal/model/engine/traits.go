package engine

import (
	"fmt"
	"slices"
	"strings"
)

// An Engine is all that the program knows of one storage engine: one folder under internal/engine.
//
// A core (scenarios, simulation, rules, plans, the lab, ...) never names one. It declares a small
// interface of what it must know, engines implement the interfaces they can, and [Facets] finds
// those that do. An engine that lacks a facet is refused by [Lacks] with a clear word, never
// treated as some other engine.
type Engine interface {
	Traits() Traits
}

// Traits are what every part of the program may know of an engine, as data.
type Traits struct {
	// Key names it in scenarios: engine: {KEY: {...}}.
	Key string
	// Product is its name for people: "PostgreSQL".
	Product string
	// Database names it in recordings and rules, "" for what is no database.
	Database string
	// Cycle is its word for the recurring burst of writing: "checkpoint".
	Cycle string
	// Volumes are those it knows, the most important first.
	Volumes []Role
	// Cache is the key of the setting that sizes its own cache, "" if it has none.
	Cache string
}

// A Role is what a volume is for.
type Role struct {
	// Name of the volume in scenarios: "data", "wal".
	Name string
	// Log says that the engine's log goes there, which every acknowledged write waits for.
	Log bool
	// Needed says that there must be one; of several that are OneOf, one is enough.
	Needed, OneOf bool
}

// Log is the name of the volume that may be the log's own, "" if the engine has none.
func (t Traits) Log() string {
	if i := slices.IndexFunc(t.Volumes, func(r Role) bool { return r.Log }); i >= 0 {
		return t.Volumes[i].Name
	}
	return ""
}

// Facets are the engines that implement a core's interface, in the list's order.
func Facets[T any](all []Engine) []T {
	var out []T
	for _, e := range all {
		if f, ok := e.(T); ok {
			out = append(out, f)
		}
	}
	return out
}

// Facet is what the engine of a key tells a core. The error is a [*LackError] where it does not
// have the facet, or where there is no engine of that key.
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

// ByKey is the engine of a key in scenarios, nil if there is none.
func ByKey(all []Engine, key string) Engine {
	for _, e := range all {
		if e.Traits().Key == key {
			return e
		}
	}
	return nil
}

// ByDatabase is the engine that recordings name so, nil if there is none.
func ByDatabase(all []Engine, database string) Engine {
	for _, e := range all {
		if e.Traits().Database == database && database != "" {
			return e
		}
	}
	return nil
}

// A LackError says that an engine cannot do what a verb asks of it.
type LackError struct {
	Key  string   // the engine's, in scenarios
	Verb string   // what was to be done, after "cannot": "run in the lab"
	Have []string // the engines that can
}

func (e *LackError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("%s cannot %s, and no other engine can", e.Key, e.Verb)
	}
	return fmt.Sprintf("%s cannot %s; these can: %s", e.Key, e.Verb, strings.Join(e.Have, ", "))
}
