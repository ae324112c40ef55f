package model

import (
	"plimsoll/internal/engine/postgres/judge"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/rules"
)

// pack is the rule pack that judges recordings of this engine.
var pack = corerules.NewPack([]rules.Knowledge{judge.Knowledge()})
