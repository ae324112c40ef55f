package postgres

import (
	"plimsoll/internal/advise/discover"
	"plimsoll/internal/engine/postgres/advise"
)

// Container implements discover.Engine.
func (Engine) Container() discover.Container { return advise.Container() }
