//go:build linux

package worker

import (
	"plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/model/scenario"
)

// language is what scenarios in these tests may contain.
var language = scenario.NewLanguage([]*scenario.Engine{&model.Spec})
