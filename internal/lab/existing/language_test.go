package existing

import (
	etcd "plimsoll/internal/engine/etcd/model"
	iris "plimsoll/internal/engine/iris/model"
	mongodb "plimsoll/internal/engine/mongodb/model"
	postgres "plimsoll/internal/engine/postgres/model"
	streams "plimsoll/internal/engine/streams/model"
	"plimsoll/internal/model/scenario"
)

// language parses the scenarios of these tests.
var language = scenario.NewLanguage([]*scenario.Engine{&mongodb.Spec, &etcd.Spec, &postgres.Spec, &iris.Spec, &streams.Spec}, nil)
