package advise

import (
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/engine/streams/model"
	"plimsoll/internal/model/scenario"
)

// Plan is what matters to a plan of a scenario.
func Plan(sc *scenario.Scenario) plan.Profile {
	c := sc.Engine.Config.(*model.Config)
	return plan.Profile{
		DirectIO: true, LogWait: !c.RandomWrites, LogRecord: plan.Payload(sc),
		NoCheckpoint: "streams are no database, and have none",
	}
}
