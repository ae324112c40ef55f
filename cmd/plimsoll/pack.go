package main

import (
	"sync"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/rules"
)

// pack holds every signal and every rule of this program.
var pack = sync.OnceValue(func() *rules.Pack { return corerules.NewPack(engine.All().Rules()) })
