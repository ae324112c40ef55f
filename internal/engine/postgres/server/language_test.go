//go:build linux

package server

import (
	"plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// language is what the tests' scenarios may say.
var language = scenario.NewLanguage([]engine.Engine{model.Facets{}})
