package fleet_test

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/corerules"
)

// pack contains all rules.
var pack = corerules.NewPack(engines.All().Rules())
