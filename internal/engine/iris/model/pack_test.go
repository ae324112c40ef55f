package model

import (
	"plimsoll/internal/engine/enginetest"
	"plimsoll/internal/engine/iris/judge"
)

// pack is what recordings of this engine are judged by.
var pack = enginetest.Pack("iris", "InterSystems IRIS", judge.Knowledge())
