//go:build linux

package buckets

import (
	etcd "plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// language is what the tests' scenarios may say.
var language = scenario.NewLanguage([]engine.Engine{model.Facets{}, etcd.Facets{}})
