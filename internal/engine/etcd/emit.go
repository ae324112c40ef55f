package etcd

import (
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine/etcd/advise"
)

// Deployment is how a member is deployed and configured.
func (Engine) Deployment() emit.Deployment { return advise.Deployment() }
