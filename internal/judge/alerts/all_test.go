package alerts_test

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/corerules"
)

// pack contains every rule.
var pack = corerules.NewPack(engines.All().Rules())
