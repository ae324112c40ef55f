package applog

import (
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/model/scenario"
)

// profile holds the properties that matter to a plan: the log can have its own volume.
func profile(sc *scenario.Scenario) plan.Profile {
	return plan.Profile{
		LogWait: true, LogRecord: plan.Payload(sc),
		ExtraVolumes: []plan.ExtraVolume{plan.NewExtraVolume("log", logFile)},
	}
}
