package mongodb

import (
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine/mongodb/advise"
)

// Deployment is how a mongod is deployed and configured.
func (Engine) Deployment() emit.Deployment { return advise.Deployment() }
