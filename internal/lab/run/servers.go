//go:build linux

package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	etcdmodel "plimsoll/internal/engine/etcd/model"
	etcd "plimsoll/internal/engine/etcd/server"
	wiredtigermodel "plimsoll/internal/engine/mongodb/model"
	mongodb "plimsoll/internal/engine/mongodb/server"
	wiredtiger "plimsoll/internal/engine/mongodb/worker"
	postgresmodel "plimsoll/internal/engine/postgres/model"
	postgres "plimsoll/internal/engine/postgres/server"
	streamsmodel "plimsoll/internal/engine/streams/model"
	streams "plimsoll/internal/engine/streams/server"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
)

// servers make the engines that the laboratory has, by their names in scenarios.
var servers = map[string]func(scenario.Config) (lab.Server, error){
	"etcd":       func(c scenario.Config) (lab.Server, error) { return etcd.New(*c.(*etcdmodel.Config)) },
	"postgres":   func(c scenario.Config) (lab.Server, error) { return postgres.New(*c.(*postgresmodel.Config)) },
	"streams":    func(c scenario.Config) (lab.Server, error) { return streams.New(*c.(*streamsmodel.Config)) },
	"wiredtiger": func(c scenario.Config) (lab.Server, error) { return wiredtiger.New(*c.(*wiredtigermodel.Config)) },
}

// NewMongod gives the engine of a wiredtiger scenario as a whole mongod, the one at a path or of a name on PATH.
func NewMongod(path string) func(*scenario.Scenario) (lab.Server, error) {
	return func(sc *scenario.Scenario) (lab.Server, error) {
		cfg := scenario.ConfigOf[*wiredtigermodel.Config](sc)
		if cfg == nil {
			return nil, fmt.Errorf("the scenario's engine is %s, and a mongod runs wiredtiger", sc.Engine.Name())
		}
		return mongodb.New(path, *cfg)
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
	return start(sc.Engine.Config)
}
