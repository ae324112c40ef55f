package prove

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/corerules"
)

// pack has every rule.
var pack = corerules.NewPack(engines.All().Rules())
