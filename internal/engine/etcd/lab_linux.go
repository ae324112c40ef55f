package etcd

import (
	"plimsoll/internal/engine/etcd/checkperf"
	"plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/engine/etcd/server"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/scenario"
)

// NewServer implements lab.Engine: the etcd of $PLIMSOLL_ETCD, or on PATH.
func (Engine) NewServer(sc *scenario.Scenario) (lab.Server, error) {
	return server.New(*scenario.ConfigOf[*model.Config](sc))
}

// Program implements lab.ProgramEngine.
func (Engine) Program() lab.Program {
	return lab.Program{
		Flag: "etcd", Usage: "of a scenario with etcd, run this binary (default: $" + server.EnvBinary + ", or etcd on PATH)",
		Missing: "make etcd builds bin/etcd-current",
		New: func(path string, sc *scenario.Scenario) (lab.Server, error) {
			return server.NewAt(path, *scenario.ConfigOf[*model.Config](sc))
		},
	}
}

// Addresses implements existing.Engine.
func (Engine) Addresses() existing.Addresses { return server.Addresses }

// NewExisting implements existing.Engine.
func (Engine) NewExisting(_ *scenario.Scenario, opt existing.Options) (existing.Server, error) {
	return server.NewExisting(opt, 0)
}

// NewPerfCheck implements existing.PerfEngine: etcdctl's check perf.
func (Engine) NewPerfCheck(opt existing.Options, load existing.PerfLoad) (existing.PerfCheck, error) {
	return checkperf.New(opt, load)
}
