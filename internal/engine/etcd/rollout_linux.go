package etcd

import (
	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/engine/etcd/advise"
)

// Rollout implements rollout.Engine.
func (Engine) Rollout() rollout.Procedure { return advise.Procedure() }
