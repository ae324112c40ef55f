//go:build linux

package run

import (
	"context"

	"plimsoll/internal/lab"
	"plimsoll/internal/model/scenario"
)

// prepareExisting creates the run's database.
func (x *experiment) prepareExisting(ctx context.Context) error {
	x.m = noMachines(x.sc, x.opt)
	x.lab.Settings, x.lab.Volumes = map[string]string{}, []Emulation{}
	x.remark("the volumes are the scenario's, not measured ones: the server has its own, and the model uses the scenario's")
	// The latencies are measured here, so a remote server's include the network.
	if !x.opt.Existing.Local {
		x.remark("these latencies include the network between this machine and the server")
	}
	x.opt.report(Progress{Phase: "creating " + x.opt.Existing.Database})
	x.started = true
	return x.server.Start(ctx, &x.m.lab, func(what string, done, total int64) {
		x.opt.report(Progress{Phase: what, Done: done, Total: total})
	})
}

// noMachines stands in for the machines of a scenario whose server is elsewhere.
func noMachines(sc *scenario.Scenario, opt *Options) *machines {
	return &machines{lab: lab.Machine{Dirs: map[string]string{}, Devices: map[string]string{}, Scenario: sc,
		Log: opt.log}}
}
