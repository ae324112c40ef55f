// Package postgres is all that Plimsoll knows of PostgreSQL: its traits, and in the packages below
// its model, its live source, its rules and its real server.
package postgres

import "plimsoll/internal/engine/postgres/model"

// Engine is PostgreSQL.
type Engine struct{ model.Facets }
