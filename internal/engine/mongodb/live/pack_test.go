package live

import (
	"plimsoll/internal/engine/mongodb/judge"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/rules"
)

// pack judges the recordings of this engine.
var pack = corerules.NewPack([]rules.Knowledge{judge.Knowledge()})
