package alerts_test

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/rules"
)

// pack contains every rule.
var pack = rules.NewPack(engines.All().Rules())
