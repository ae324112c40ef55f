// Package iris is all that Plimsoll knows of InterSystems IRIS: its traits, and in the packages
// below its model, its live source, its rules and its real server.
package iris

import "plimsoll/internal/engine/iris/model"

// Engine is InterSystems IRIS.
type Engine struct{ model.Facets }
