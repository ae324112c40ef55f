package iris

import (
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine/iris/advise"
)

// Deployment is how an instance is deployed and configured.
func (Engine) Deployment() emit.Deployment { return advise.Deployment() }
