// Package etcd is all that Plimsoll knows of etcd: its traits, and in the packages below its model,
// its live source, its rules and its real server.
package etcd

import "plimsoll/internal/engine/etcd/model"

// Engine is etcd.
type Engine struct{ model.Facets }
