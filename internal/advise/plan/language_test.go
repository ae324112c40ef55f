package plan

import (
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

// The tests of the engines' list set these, because engines import this package.
var (
	language *scenario.Language // what scenarios in these tests may contain
	every    Options            // every engine, and nothing else
)

// Speak sets the engines of the tests.
func Speak(models []*scenario.Engine, profilers []database.With[Profiler]) {
	language, every.Engines = scenario.NewLanguage(models, nil), profilers
}
