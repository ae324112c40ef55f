package casebook

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/corerules"
)

// pack contains all rules.
var profilers = engines.All().Plans()

var pack = corerules.NewPack(engines.All().Rules())
