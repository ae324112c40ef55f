//go:build linux

package run

import (
	"context"

	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
)

// An Existing is a run on an existing server: the same workload, sent the same way, but no emulated
// volumes. Options.Server is the server; it makes a database of its own and removes it. The run
// changes nothing on this machine and needs no privileges for that.
type Existing struct {
	Address  string `json:"address"`  // product and hosts, without secrets
	Database string `json:"database"` // the one that was made there, or the prefix of keys
	Kept     bool   `json:"kept"`
	// Local says that the server is on this machine, so that its devices and cores are recorded.
	Local bool `json:"local"`
}

// prepareExisting makes the run's database.
func (x *experiment) prepareExisting(ctx context.Context) error {
	x.m = noMachines(x.sc, x.opt)
	x.lab.Settings, x.lab.Volumes = map[string]string{}, []Emulation{}
	x.remark("volumes are what the scenario says, not measured: the server has its own, and the model beside it is of the scenario's")
	if !x.opt.Existing.Local {
		x.remark("the network between here and the server is a part of these latencies")
	}
	x.opt.tell(Progress{Phase: "making " + x.opt.Existing.Database})
	x.started = true
	return x.server.Start(ctx, &x.m.lab, func(what string, done, total int64) {
		x.opt.tell(Progress{Phase: what, Done: done, Total: total})
	})
}

// noMachines stands in for the machines of a scenario whose server is elsewhere.
func noMachines(sc *scenario.Scenario, opt *Options) *machines {
	return &machines{lab: lab.Machine{Dirs: map[string]string{}, Devices: map[string]string{}, Scenario: sc,
		Log: opt.log}}
}
