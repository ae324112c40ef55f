package html

import (
	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/rules"
)

// pack is every rule.
var pack = rules.NewPack(engines.All().Rules())
