package postgres

import (
	"plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/engine/postgres/server"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/scenario"
)

// NewServer implements lab.Engine.
func (Engine) NewServer(sc *scenario.Scenario) (lab.Server, error) {
	return server.New(*scenario.ConfigOf[*model.Config](sc))
}

// Addresses implements existing.Engine.
func (Engine) Addresses() existing.Addresses { return server.Addresses }

// NewExisting implements existing.Engine.
func (Engine) NewExisting(sc *scenario.Scenario, opt existing.Options) (existing.Server, error) {
	return server.NewExisting(*scenario.ConfigOf[*model.Config](sc), opt)
}
