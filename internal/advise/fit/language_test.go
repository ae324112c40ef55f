package fit_test

import (
	"plimsoll/internal/engine"
	"plimsoll/internal/model/scenario"
)

// language is the scenario language of these tests.
var language = scenario.NewLanguage(engine.All().Models(), nil)
