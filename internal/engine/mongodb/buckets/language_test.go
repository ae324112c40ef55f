//go:build linux

package buckets

import (
	etcd "plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/model/scenario"
)

// language is what the tests' scenarios may say.
var language = scenario.NewLanguage([]*scenario.Engine{&model.Spec, &etcd.Spec})
