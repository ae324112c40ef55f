package enginetest

import "plimsoll/internal/judge/rules"

// Pack is what recordings of one engine are judged by, for tests of packages that the list of all
// engines imports.
func Pack(k rules.Knowledge) *rules.Pack { return rules.NewPack([]known{{k}}) }

type known struct{ knowledge rules.Knowledge }

func (k known) Rules() rules.Knowledge { return k.knowledge }
