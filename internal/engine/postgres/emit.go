package postgres

import (
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine/postgres/advise"
)

// Deployment is how a server is deployed and configured.
func (Engine) Deployment() emit.Deployment { return advise.Deployment() }
