package advise

import (
	"time"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/model/scenario"
)

// Plan returns the properties of a scenario that matter to a plan.
func Plan(sc *scenario.Scenario) plan.Profile {
	c := sc.Engine.Config.(*model.Config)
	p := plan.Profile{
		LogWait: true, LogRecord: plan.Payload(sc),
		ExtraVolumes: []plan.ExtraVolume{plan.NewExtraVolume("wal", 0)},
		DataMost:     c.Quota,
		Members:      memberCounts(c.Members), MembersKey: "members",
		Loss: func(string) string {
			return "The member has to be removed and added again. All members are on such disks, so losing a majority at the same time loses the cluster: keep snapshots elsewhere"
		},
	}
	if c.BatchInterval < units.Duration(500*time.Millisecond) {
		p.Settings = []plan.Setting{{Name: "batch_interval",
			Values: []plan.Value{{Key: "batch_interval", Value: "500ms"}}, Need: plan.Restart}}
	}
	return p
}

// memberCounts returns the numbers of members to try. A plan never reduces fault tolerance: n members survive
// the loss of (n-1)/2, so a cluster with an even number can do with one member fewer.
func memberCounts(now int) []int {
	var out []int
	for _, n := range []int{1, 3, 5, 7} {
		if n != now && (n-1)/2 >= (now-1)/2 && n <= now+2 {
			out = append(out, n)
		}
	}
	return out
}
