package postgres

import (
	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/engine/postgres/advise"
)

// Rollout implements rollout.Engine.
func (Engine) Rollout() rollout.Procedure { return advise.Procedure() }
