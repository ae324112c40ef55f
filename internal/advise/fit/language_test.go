package fit_test

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/model/scenario"
)

// language is the scenario language of these tests.
var language = scenario.NewLanguage(engines.All().Models(), nil)
