package live

import (
	"plimsoll/internal/engine/mongodb/judge"
	"plimsoll/internal/judge/rules"
)

// pack judges the recordings of this engine.
var pack = rules.NewPack([]rules.Knowledge{judge.Knowledge()})
