package applog

import (
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/model/scenario"
)

// profile is what matters to a plan: the log can have a volume of its own.
func profile(sc *scenario.Scenario) plan.Profile {
	return plan.Profile{
		LogWait: true, LogRecord: plan.Payload(sc),
		ExtraVolumes: []plan.ExtraVolume{plan.NewExtraVolume("log", logFile)},
	}
}
