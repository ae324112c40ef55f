package live

import (
	"plimsoll/internal/engine/enginetest"
	"plimsoll/internal/engine/mongodb/judge"
)

// pack judges the recordings of this engine.
var pack = enginetest.Pack(judge.Knowledge())
