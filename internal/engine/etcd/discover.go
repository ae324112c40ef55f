package etcd

import (
	"plimsoll/internal/advise/discover"
	"plimsoll/internal/engine/etcd/advise"
)

// Container implements discover.Engine.
func (Engine) Container() discover.Container { return advise.Container() }
