//go:build linux

package buckets

import (
	etcd "plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/model/scenario"
)

// language is the scenario language of the tests.
var language = scenario.NewLanguage([]*scenario.Engine{&model.Spec, &etcd.Spec}, nil)
