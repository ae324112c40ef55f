// Package engine lists the storage engines that Plimsoll supports. Adding an engine takes a folder
// next to this file and a line in it.
package engine

import (
	"plimsoll/internal/engine/etcd"
	"plimsoll/internal/engine/iris"
	"plimsoll/internal/engine/mongodb"
	"plimsoll/internal/engine/parts"
	"plimsoll/internal/engine/postgres"
	"plimsoll/internal/engine/streams"
)

// All returns the engines in display order.
func All() parts.List {
	return parts.List{&mongodb.Engine, &etcd.Engine, &postgres.Engine, &iris.Engine, &streams.Engine}
}
