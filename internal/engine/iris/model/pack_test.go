package model

import (
	"plimsoll/internal/engine/enginetest"
	"plimsoll/internal/engine/iris/judge"
)

// pack is the rule pack that judges recordings of this engine.
var pack = enginetest.Pack(judge.Knowledge())
