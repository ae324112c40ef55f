//go:build linux

package server

import (
	"plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/model/scenario"
)

// language is the scenario language of these tests.
var language = scenario.NewLanguage([]*scenario.Engine{&model.Spec}, nil)
