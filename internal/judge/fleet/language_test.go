package fleet_test

import (
	"plimsoll/internal/engine"
	"plimsoll/internal/model/scenario"
)

// language is what the tests' scenarios may contain.
var language = scenario.NewLanguage(engine.All().Models(), nil)
