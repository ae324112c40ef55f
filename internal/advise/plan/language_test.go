package plan

import (
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// language is what the tests' scenarios may say. The tests of the engines' list set it, since
// engines import this package.
var language *scenario.Language

// Speak sets the language of the tests.
func Speak(all []engine.Engine) { language = scenario.NewLanguage(all) }
