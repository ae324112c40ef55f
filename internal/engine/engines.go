// Package engines is the one list of the storage engines that Plimsoll knows. Adding an engine is
// a folder beside this file and a line in it.
package engines

import (
	"plimsoll/internal/engine/etcd"
	"plimsoll/internal/engine/iris"
	"plimsoll/internal/engine/mongodb"
	"plimsoll/internal/engine/parts"
	"plimsoll/internal/engine/postgres"
	"plimsoll/internal/engine/streams"
)

// All are the engines, in the order in which people are shown them.
func All() parts.List {
	return parts.List{&mongodb.Engine, &etcd.Engine, &postgres.Engine, &iris.Engine, &streams.Engine}
}
