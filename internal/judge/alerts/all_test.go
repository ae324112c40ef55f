package alerts_test

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/rules"
)

// pack is every rule that there is.
var pack = rules.NewPack(engines.All().Rules())
