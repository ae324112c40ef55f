package applog

import (
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/model/scenario"
)

// PlanProfile is what matters to a plan: the log can have a volume of its own.
func (Engine) PlanProfile(sc *scenario.Scenario) plan.Profile {
	return plan.Profile{
		LogWait: true, LogRecord: plan.Payload(sc),
		Apart: []plan.Apart{plan.NewApart("log", logFile)},
	}
}
