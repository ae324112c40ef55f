package prove

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/rules"
)

// pack has every rule.
var pack = rules.NewPack(engines.All().Rules())
