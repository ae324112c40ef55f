package mongodb

import (
	"context"

	"plimsoll/internal/engine/mongodb/advise"
	"plimsoll/internal/engine/mongodb/buckets"
	"plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/engine/mongodb/server"
	"plimsoll/internal/engine/mongodb/worker"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/scenario"
)

func init() {
	Engine.Rollout = advise.Procedure
	Engine.Lab = &lab.Engine{
		// WiredTiger alone, in its worker process.
		New: func(sc *scenario.Scenario) (lab.Server, error) {
			return worker.New(*scenario.ConfigOf[*model.Config](sc))
		},
		// A whole mongod.
		Program: &lab.Program{
			Flag:    "mongod",
			Usage:   "for a scenario with mongodb, run this mongod (a path, or a name on PATH) instead of WiredTiger alone",
			Missing: "omit it for WiredTiger alone (make worker)",
			New: func(path string, sc *scenario.Scenario) (lab.Server, error) {
				return server.New(path, *scenario.ConfigOf[*model.Config](sc))
			},
		},
	}

	Engine.Existing = &existing.Engine{
		Addresses: server.Addresses,
		New: func(sc *scenario.Scenario, opt existing.Options) (existing.Server, error) {
			return server.NewExisting(*scenario.ConfigOf[*model.Config](sc), opt)
		},
	}

	// Buckets are measured in WiredTiger alone.
	Engine.Buckets = &lab.BucketBench{
		Defaults: buckets.Defaults,
		Check:    buckets.Check,
		Measure: func(ctx context.Context, b lab.Buckets) (*lab.BucketResult, error) {
			r, err := buckets.Run(ctx, b)
			if err != nil {
				return nil, err
			}
			return &lab.BucketResult{JSON: r.JSON(), Document: r.Document()}, nil
		},
	}
}
