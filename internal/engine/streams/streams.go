// Package streams is all that Plimsoll knows of I/O streams: its traits, and in the packages below
// its model, its live source, its rules and its real server.
package streams

import "plimsoll/internal/engine/streams/model"

// Engine is I/O streams.
type Engine struct{ model.Facets }
