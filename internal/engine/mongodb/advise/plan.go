package advise

import (
	"fmt"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/mongodb/judge"
	"plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/scenario"
)

// oplogSeconds is the oplog window to plan for if none is given: a day.
const oplogSeconds = 24 * 3600

// Plan returns what matters for planning a scenario's layout.
func Plan(sc *scenario.Scenario) plan.Profile {
	config := sc.Engine.Config.(*model.Config)
	profile := plan.Profile{LogWait: model.Enabled(config.Journal) && model.Enabled(config.JournalEach),
		LogRecord: config.LogBytes, Throttling: rules.Throttling(judge.Throttled)}

	// The trigger stays. Above it operations have to evict, and the updates trigger is half of it
	// (WiredTiger's conn_cache.c).
	if config.EvictionDirtyTarget > 0.02 {
		profile.Settings = append(profile.Settings, plan.Setting{
			Name: "eviction_dirty_target", Values: []plan.Value{{Key: "eviction_dirty_target", Value: "2%"}},
		})
	}

	profile.Settings = append(profile.Settings,
		plan.Setting{Name: "checkpoint",
			Values: []plan.Value{{Key: "checkpoint", Value: (config.Checkpoint / 2).Std().String()}}, Need: plan.Restart},
		// mongod's own default is half of the memory less 1 GB.
		plan.CacheSetting("cache", config.Cache, (sc.Host.Memory-units.GiB)/2))

	if model.Enabled(config.Journal) {
		profile.ExtraVolumes = []plan.ExtraVolume{plan.NewExtraVolume("journal", 10*config.LogFile)}
	}

	if !model.Enabled(config.Oplog) {
		return profile
	}

	w := sc.Workloads()
	rate, record := float64(w.Rate())*float64(w.Writes()), w.DocumentSize()+config.LogRecord
	profile.KeptLog = units.Size(rate*float64(record)*oplogSeconds) / units.GB * units.GB
	profile.KeptLogHow = fmt.Sprintf("24 h x %s writes/s x %s", units.Number(rate), record)
	profile.Loss = func(volume string) string {
		if volume == "data" {
			return "The member syncs again from the others: never put all members of a set on such disks in one zone, and leave the others enough headroom for the sync"
		}
		return "Without its journal the member does not start, and must sync again from the others"
	}

	return profile
}
