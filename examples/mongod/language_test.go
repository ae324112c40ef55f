package mongod_test

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/model/scenario"
)

// language is what the tests' scenarios may contain.
var language = scenario.NewLanguage(engines.All().Models(), nil)
