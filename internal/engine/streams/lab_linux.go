package streams

import (
	"plimsoll/internal/engine/streams/model"
	"plimsoll/internal/engine/streams/server"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
)

func init() {
	Engine.Lab = &lab.Engine{New: func(sc *scenario.Scenario) (lab.Server, error) {
		return server.New(*scenario.ConfigOf[*model.Config](sc))
	}}
}
