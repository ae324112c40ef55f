package plan

import (
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// language is what scenarios in these tests may contain. The tests of the engines' list set it,
// because engines import this package.
var language *scenario.Language

// Speak sets the language of the tests.
func Speak(all []engine.Engine) { language = scenario.NewLanguage(all) }
