// Package mongodb is all that Plimsoll knows of MongoDB: its traits, and in the packages below its
// model, its live source, its rules and its real server.
package mongodb

import "plimsoll/internal/engine/mongodb/model"

// Engine is MongoDB.
type Engine struct{ model.Facets }
