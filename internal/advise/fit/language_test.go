package fit_test

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/model/scenario"
)

// language is what scenarios in these tests may contain.
var language = scenario.NewLanguage(engines.All().Models())
