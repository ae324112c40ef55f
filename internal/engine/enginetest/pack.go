package enginetest

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/engine"
)

// Pack is what recordings of one engine are judged by, for tests of its packages, which the list of
// all engines imports.
func Pack(database, product string, knowledge rules.Knowledge) *rules.Pack {
	return rules.NewPack([]engine.Engine{known{engine.Traits{Database: database, Product: product}, knowledge}})
}

type known struct {
	traits    engine.Traits
	knowledge rules.Knowledge
}

func (k known) Traits() engine.Traits  { return k.traits }
func (k known) Rules() rules.Knowledge { return k.knowledge }
