// Package parts defines what an engine consists of. Each engine declares its parts in one file of
// its folder; missing parts are nil. The core packages depend on no engine and get the engines' parts from a
// [List].
package parts

import (
	"context"
	"io/fs"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/advise/starter"
	"plimsoll/internal/engine/others"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/recognise"
)

// An Engine is everything the program knows about one storage engine. Only the first part is
// required; a command reports if an engine lacks the part it needs.
type Engine struct {
	// Engine is for scenarios and the simulator.
	scenario.Engine
	// Source reads its servers, exporters and captures.
	Source recognise.Engine
	// Rules judge its recordings.
	Rules func() rules.Knowledge
	// Start is its first scenario, for users who have none.
	Start *starter.Template
	// Fit makes scenarios from its recordings.
	Fit *fit.Engine
	// Plan describes what to try for it.
	Plan plan.Profiler
	// Deployment describes how it is deployed and configured.
	Deployment func() emit.Deployment
	// Container describes how it runs in a container. It requires a deployment.
	Container func() discover.Container
	// FileNames queries a server for the contents of data files, such as "orders" for a table's file. An
	// empty address stands for the server on this machine that has the files. Files of other servers, and
	// unknown ones, are left out. It is nil if the file names already show the contents.
	FileNames func(ctx context.Context, address string, paths []string,
		opt recognise.LiveOptions) (map[string]string, error)
	// Profiles are its I/O profiles for probes: files profiles/NAME.yaml.
	Profiles fs.FS

	// The following parts exist only on Linux and are nil elsewhere.

	// Rollout describes how a plan is carried out on its members.
	Rollout func() rollout.Procedure
	// Lab runs it on emulated volumes.
	Lab *lab.Engine
	// Existing lets a run use a server that is already running.
	Existing *existing.Engine
	// Buckets measures the cost of bucket documents.
	Buckets *lab.BucketBench
}

// A List is a list of engines in display order. Its methods return the part of each engine that has
// it.
type List []*Engine

// with returns the engines that have a part.
func with[P any](all List, part func(e *Engine) (p P, has bool)) []database.With[P] {
	var out []database.With[P]
	for _, e := range all {
		if p, has := part(e); has {
			out = append(out, database.With[P]{Traits: e.Traits, Part: p})
		}
	}
	return out
}

// Models returns the engines for scenarios and the simulator.
func (l List) Models() []*scenario.Engine {
	out := make([]*scenario.Engine, len(l))
	for i, e := range l {
		out[i] = &e.Engine
	}
	return out
}

// Sources returns what reads the engines.
func (l List) Sources() []recognise.Engine {
	out := make([]recognise.Engine, len(l))
	for i, e := range l {
		out[i] = e.Source
	}
	return out
}

// Rules returns the parts of the rule pack.
func (l List) Rules() []rules.Knowledge {
	var out []rules.Knowledge
	for _, e := range l {
		if e.Rules == nil {
			continue
		}
		// Rules suggest commands with the engine's address, which uses the first scheme.
		k := e.Rules()
		if len(e.Source.Schemes) > 0 {
			k.Scheme = e.Source.Schemes[0]
		}
		out = append(out, k)
	}
	return out
}

// Starts returns the parts for writing first scenarios.
func (l List) Starts() []database.With[*starter.Template] {
	return with(l, func(e *Engine) (*starter.Template, bool) { return e.Start, e.Start != nil })
}

// Fits returns the parts for fitting scenarios.
func (l List) Fits() []database.With[*fit.Engine] {
	return with(l, func(e *Engine) (*fit.Engine, bool) { return e.Fit, e.Fit != nil })
}

// Plans returns the parts for planning.
func (l List) Plans() []database.With[plan.Profiler] {
	return with(l, func(e *Engine) (plan.Profiler, bool) { return e.Plan, e.Plan != nil })
}

// Deployments returns the parts for emitting files.
func (l List) Deployments() emit.Engines {
	// Budgets also cover databases without a folder here, such as MySQL.
	return emit.Engines{
		Language: scenario.NewLanguage(l.Models(), nil),
		Deployments: with(l, func(e *Engine) (d emit.Deployment, has bool) {
			if e.Deployment == nil {
				return d, false
			}
			return e.Deployment(), true
		}),
		Others: others.Budgets,
	}
}

// Containers returns the parts for discovering engines in a cluster.
func (l List) Containers() []database.With[discover.Engine] {
	return with(l, func(e *Engine) (d discover.Engine, has bool) {
		if e.Container == nil {
			return d, false
		}
		return discover.Engine{Container: e.Container(), Deployment: e.Deployment()}, true
	})
}

// Rollouts returns the parts for carrying out plans.
func (l List) Rollouts() rollout.Engines {
	return rollout.Engines{
		Engines: l.Deployments(),
		Procedures: with(l, func(e *Engine) (p rollout.Procedure, has bool) {
			if e.Rollout == nil {
				return p, false
			}
			return e.Rollout(), true
		}),
	}
}

// Labs returns the parts for running in the lab.
func (l List) Labs() []database.With[*lab.Engine] {
	return with(l, func(e *Engine) (*lab.Engine, bool) { return e.Lab, e.Lab != nil })
}

// Existing returns the parts for using servers that already run.
func (l List) Existing() []database.With[*existing.Engine] {
	return with(l, func(e *Engine) (*existing.Engine, bool) { return e.Existing, e.Existing != nil })
}

// Profiles returns the I/O profiles for probes.
func (l List) Profiles() []fs.FS {
	var out []fs.FS
	for _, e := range l {
		if e.Profiles != nil {
			out = append(out, e.Profiles)
		}
	}
	return out
}
