package model

import (
	"plimsoll/internal/engine/iris/judge"
	"plimsoll/internal/judge/rules"
)

// pack is the rule pack that judges recordings of this engine.
var pack = rules.NewPack([]rules.Knowledge{judge.Knowledge()})
