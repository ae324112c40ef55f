package streams

import (
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/engine/streams/model"
	"plimsoll/internal/model/scenario"
)

// PlanProfile implements plan.Engine.
func (Engine) PlanProfile(sc *scenario.Scenario) plan.Profile {
	c := sc.Engine.Config.(*model.Config)
	return plan.Profile{
		DirectIO: true, LogWait: !c.RandomWrites, LogRecord: plan.Payload(sc),
		NoCheckpoint: "streams are no database, and have none",
	}
}
