package postgres

import (
	"plimsoll/internal/engine/postgres/advise"
	"plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/engine/postgres/server"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/scenario"
)

func init() {
	Engine.Rollout = advise.Procedure
	Engine.Lab = &lab.Engine{New: func(sc *scenario.Scenario) (lab.Server, error) {
		return server.New(*scenario.ConfigOf[*model.Config](sc))
	}}
	Engine.Existing = &existing.Engine{
		Addresses: server.Addresses,
		New: func(sc *scenario.Scenario, opt existing.Options) (existing.Server, error) {
			return server.NewExisting(*scenario.ConfigOf[*model.Config](sc), opt)
		},
	}
}
