package plan

import (
	etcd "plimsoll/internal/engine/etcd/model"
	iris "plimsoll/internal/engine/iris/model"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
	postgres "plimsoll/internal/engine/postgres/model"
	streams "plimsoll/internal/engine/streams/model"
	"plimsoll/internal/model/scenario"
)

// settings are the scenario's engine's; the others are nil.
type settings struct {
	WiredTiger *wiredtiger.Config
	Etcd       *etcd.Config
	Postgres   *postgres.Config
	IRIS       *iris.Config
	Streams    *streams.Config
}

func settingsOf(sc *scenario.Scenario) settings {
	return settings{
		scenario.ConfigOf[*wiredtiger.Config](sc), scenario.ConfigOf[*etcd.Config](sc), scenario.ConfigOf[*postgres.Config](sc),
		scenario.ConfigOf[*iris.Config](sc), scenario.ConfigOf[*streams.Config](sc),
	}
}
