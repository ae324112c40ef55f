package live

import (
	"plimsoll/internal/engine/enginetest"
	"plimsoll/internal/engine/mongodb/judge"
)

// pack is what recordings of this engine are judged by.
var pack = enginetest.Pack(judge.Knowledge())
