package fleet_test

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/rules"
)

// pack contains all rules.
var pack = rules.NewPack(engines.All().Rules())
