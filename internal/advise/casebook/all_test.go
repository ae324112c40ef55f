package casebook

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/rules"
)

// pack contains all rules.
var profilers = engines.All().Plans()

var pack = rules.NewPack(engines.All().Rules())
