//go:build linux

package worker

import (
	"plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// language is what the tests' scenarios may say.
var language = scenario.NewLanguage([]engine.Engine{model.Facets{}})
