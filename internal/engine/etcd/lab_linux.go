package etcd

import (
	"plimsoll/internal/engine/etcd/advise"
	"plimsoll/internal/engine/etcd/checkperf"
	"plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/engine/etcd/server"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/scenario"
)

func init() {
	Engine.Rollout = advise.Procedure
	Engine.Lab = &lab.Engine{
		// The etcd of $PLIMSOLL_ETCD, or on PATH.
		New: func(sc *scenario.Scenario) (lab.Server, error) {
			return server.New(*scenario.ConfigOf[*model.Config](sc))
		},
		Program: &lab.Program{
			Flag: "etcd", Usage: "of a scenario with etcd, run this binary (default: $" + server.EnvBinary +
				", or etcd on PATH)",
			Missing: "make etcd builds bin/etcd-current",
			New: func(path string, sc *scenario.Scenario) (lab.Server, error) {
				return server.NewAt(path, *scenario.ConfigOf[*model.Config](sc))
			},
		},
	}

	Engine.Existing = &existing.Engine{
		Addresses: server.Addresses,
		New: func(_ *scenario.Scenario, opt existing.Options) (existing.Server, error) {
			return server.NewExisting(opt, 0)
		},
		NewPerfCheck: checkperf.New, // etcdctl's check perf
	}
}
