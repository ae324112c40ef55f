package iris

import (
	"plimsoll/internal/advise/discover"
	"plimsoll/internal/engine/iris/advise"
)

// Container implements discover.Engine.
func (Engine) Container() discover.Container { return advise.Container() }
