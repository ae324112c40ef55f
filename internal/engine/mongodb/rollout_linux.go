package mongodb

import (
	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/engine/mongodb/advise"
)

// Rollout implements rollout.Engine.
func (Engine) Rollout() rollout.Procedure { return advise.Procedure() }
