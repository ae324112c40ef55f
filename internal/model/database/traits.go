package database

import (
	"fmt"
	"slices"
	"strings"
)

// With is an engine's traits together with the part that one core needs: the fit, the plan, the lab, ...
// Cores never name an engine: they are given the engines that have their part.
type With[P any] struct {
	Traits
	Part P
}

// Traits describe an engine as data that every part of the program may use.
type Traits struct {
	// Key names the engine in scenarios: engine: {KEY: {...}}.
	Key string
	// Aliases are further keys that scenarios and flags accept.
	Aliases []string
	// Product is its display name: "PostgreSQL".
	Product string
	// Database names the engine in recordings and rules; "" if it is not a database.
	Database string
	// Cycle is its word for the recurring burst of writing: "checkpoint".
	Cycle string
	// KeptLog is its word for the log that a member keeps for others, "" if it keeps none.
	KeptLog string
	// Volumes are those it uses, the most important first.
	Volumes []Role
	// Cache is the key of the setting that sizes its own cache, "" if it has none.
	Cache string
	// About describes the engine and its volumes in the scenarios' JSON Schema.
	About string
	// FieldDocs are the comments of its settings as JSON, by type and field ("Config.Cache").
	FieldDocs []byte
	// Background reports whether a process, by its command line, does work that no client waits for; nil:
	// none.
	Background func(commandLine string) bool
	// FileHint explains how to find out what a data file contains, or returns "" if the file's name says
	// it. nil: all names do.
	FileHint func(path string) string
}

// A Role is the purpose of a volume.
type Role struct {
	// Name of the volume in scenarios: "data", "wal".
	Name string
	// Log means that the volume holds the engine's log, for which every acknowledged write waits.
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

// Find returns the engine with a key among those that have a part. The error is a [*LackError]: an
// engine without the part is never treated as some other engine.
func Find[P any](able []With[P], key, verb string) (With[P], error) {
	var have []string
	for _, e := range able {
		if e.Key == key || slices.Contains(e.Aliases, key) {
			return e, nil
		}
		have = append(have, e.Key)
	}
	return With[P]{}, &LackError{Key: key, Verb: verb, Have: have}
}

// A LackError reports that an engine does not support a verb.
type LackError struct {
	Key  string   // the engine's, in scenarios
	Verb string   // the task, as it follows "cannot": "run in the lab"
	Have []string // the engines that can
}

func (e *LackError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("%s cannot %s, and no other engine can", e.Key, e.Verb)
	}
	return fmt.Sprintf("%s cannot %s; these can: %s", e.Key, e.Verb, strings.Join(e.Have, ", "))
}
