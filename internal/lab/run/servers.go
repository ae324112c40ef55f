//go:build linux

package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	etcd "plimsoll/internal/engine/etcd/server"
	mongodb "plimsoll/internal/engine/mongodb/server"
	wiredtiger "plimsoll/internal/engine/mongodb/worker"
	postgres "plimsoll/internal/engine/postgres/server"
	streams "plimsoll/internal/engine/streams/server"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
)

// servers make the engines that the laboratory has, by their names in scenarios.
var servers = map[string]func(*scenario.Engine) (lab.Server, error){
	"etcd":       func(e *scenario.Engine) (lab.Server, error) { return etcd.New(*e.Etcd) },
	"postgres":   func(e *scenario.Engine) (lab.Server, error) { return postgres.New(*e.Postgres) },
	"streams":    func(e *scenario.Engine) (lab.Server, error) { return streams.New(*e.Streams) },
	"wiredtiger": func(e *scenario.Engine) (lab.Server, error) { return wiredtiger.New(*e.WiredTiger) },
}

// NewMongod gives the engine of a wiredtiger scenario as a whole mongod, the one at a path or of a name on PATH.
func NewMongod(path string) func(*scenario.Scenario) (lab.Server, error) {
	return func(sc *scenario.Scenario) (lab.Server, error) {
		if sc.Engine.WiredTiger == nil {
			return nil, fmt.Errorf("the scenario's engine is %s, and a mongod runs wiredtiger", sc.Engine.Name())
		}
		return mongodb.New(path, *sc.Engine.WiredTiger)
	}
}

// newServer makes the engine of a scenario.
func newServer(sc *scenario.Scenario) (lab.Server, error) {
	name := sc.Engine.Name()
	start, ok := servers[name]
	if !ok {
		return nil, fmt.Errorf("the lab has no %s, only %s: plimsoll simulate predicts what it would do", name,
			strings.Join(slices.Sorted(maps.Keys(servers)), ", "))
	}
	return start(&sc.Engine)
}
