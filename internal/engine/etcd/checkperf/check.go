//go:build linux

package checkperf

import (
	"context"

	"plimsoll/internal/base/units"
	etcd "plimsoll/internal/engine/etcd/server"
	"plimsoll/internal/lab/existing"
)

// A Check measures one cluster.
type check struct {
	server *etcd.Existing
	use    existing.Options
	opt    Options
}

// New prepares a check of the cluster at an address, without connecting.
func New(use existing.Options, load existing.PerfLoad) (*existing.PerfCheck, error) {
	of, err := Find(load.Name)
	if err != nil {
		return nil, err
	}
	server, err := etcd.NewExisting(use, KeyBytes)
	if err != nil {
		return nil, err
	}
	c := &check{server, use, Options{Load: of, Duration: load.Duration, Seed: load.Seed,
		Progress: load.Progress}}
	return &existing.PerfCheck{Inspect: c.inspect, Run: c.run}, nil
}

func (c *check) inspect(ctx context.Context) (*existing.Intent, error) {
	puts := c.opt.Puts()
	seen, err := c.server.InspectFor(ctx, ValueSize, puts)
	if err != nil {
		return nil, err
	}
	return &existing.Intent{
		Address: c.use.Address, Name: c.use.Name, Inspection: seen, Keep: c.use.Keep, Within: c.opt.Duration,
		Writes: puts, Written: units.Size(puts) * (KeyBytes + ValueSize),
	}, nil
}

func (c *check) run(ctx context.Context) (*existing.PerfResult, error) {
	r, err := Run(ctx, c.server, c.opt)
	if err != nil {
		return nil, err
	}
	return &existing.PerfResult{JSON: r, Met: r.Passed, Document: r.Document()}, nil
}
