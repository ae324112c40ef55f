package advise

import (
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/engine/streams/model"
	"plimsoll/internal/model/scenario"
)

// Plan returns what matters for planning a scenario's layout.
func Plan(sc *scenario.Scenario) plan.Profile {
	c := sc.Engine.Config.(*model.Config)
	return plan.Profile{
		DirectIO: true, LogWait: !c.RandomWrites, LogRecord: plan.Payload(sc),
		NoCheckpoint: "streams are not a database and have none",
	}
}
