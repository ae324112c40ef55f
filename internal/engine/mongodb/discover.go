package mongodb

import (
	"plimsoll/internal/advise/discover"
	"plimsoll/internal/engine/mongodb/advise"
)

// Container implements discover.Engine.
func (Engine) Container() discover.Container { return advise.Container() }
