//go:build linux

package server

import (
	"plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/model/scenario"
)

// language is what scenarios in these tests may contain.
var language = scenario.NewLanguage([]*scenario.Engine{&model.Spec}, nil)
