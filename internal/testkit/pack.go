// Package testkit has what the tests of many packages start from: the rules of all engines, as the
// program has them. A test that needs only one engine makes its own pack, which shows that the engine's
// folder is complete. Programs do not import it.
package testkit

import (
	"sync"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/rules"
)

// Pack returns the pack of every rule and every engine.
var Pack = sync.OnceValue(func() *rules.Pack { return corerules.NewPack(engine.All().Rules()) })
