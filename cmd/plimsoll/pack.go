package main

import (
	"sync"

	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/rules"
)

// pack is every signal and every rule that this program judges by.
var pack = sync.OnceValue(func() *rules.Pack { return rules.NewPack(engines.All()) })
