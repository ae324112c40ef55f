package main

import (
	"sync"

	engines "plimsoll/internal/engine"
	"plimsoll/internal/judge/rules"
)

// pack holds every signal and every rule of this program.
var pack = sync.OnceValue(func() *rules.Pack { return rules.NewPack(engines.All().Rules()) })
