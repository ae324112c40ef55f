package mongodb

import (
	"context"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/engine/mongodb/buckets"
	"plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/engine/mongodb/server"
	"plimsoll/internal/engine/mongodb/worker"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/scenario"
)

// NewServer implements lab.Engine: WiredTiger alone, in its worker.
func (Engine) NewServer(sc *scenario.Scenario) (lab.Server, error) {
	return worker.New(*scenario.ConfigOf[*model.Config](sc))
}

// Program implements lab.ProgramEngine: a whole mongod.
func (Engine) Program() lab.Program {
	return lab.Program{
		Flag: "mongod", Usage: "of a scenario with wiredtiger, run this mongod (a path, or a name on PATH) instead of WiredTiger alone",
		Missing: "leave it out for WiredTiger alone (make worker)",
		New: func(path string, sc *scenario.Scenario) (lab.Server, error) {
			return server.New(path, *scenario.ConfigOf[*model.Config](sc))
		},
	}
}

// Addresses implements existing.Engine.
func (Engine) Addresses() existing.Addresses { return server.Addresses }

// NewExisting implements existing.Engine.
func (Engine) NewExisting(sc *scenario.Scenario, opt existing.Options) (existing.Server, error) {
	return server.NewExisting(*scenario.ConfigOf[*model.Config](sc), opt)
}

// Buckets implements lab.BucketEngine.
func (Engine) Buckets() lab.Buckets { return lab.Buckets(buckets.Defaults()) }

// CheckBuckets implements lab.BucketEngine.
func (Engine) CheckBuckets(b *lab.Buckets) diagnostics.List { return (*buckets.Config)(b).Check() }

// MeasureBuckets implements lab.BucketEngine: in WiredTiger alone.
func (Engine) MeasureBuckets(ctx context.Context, b lab.Buckets) (lab.BucketResult, error) {
	r, err := buckets.Run(ctx, buckets.Config(b))
	if err != nil {
		return nil, err
	}
	return r, nil
}
