// Package parts says what an engine consists of. Each engine declares its parts in one file of its
// folder, and what it does not have is nil there. The cores, which know no engine, are given the
// part that concerns them by a [List].
package parts

import (
	"io/fs"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/engine/others"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/sources"
)

// An Engine is everything the program knows about one storage engine. Only the first part is
// required; a verb reports that an engine lacks another.
type Engine struct {
	// Engine is for scenarios and the simulator.
	scenario.Engine
	// Source reads its servers, its exporters and its captures.
	Source sources.Engine
	// Rules are what its recordings are judged by.
	Rules func() rules.Knowledge
	// Fit makes a scenario of its recordings.
	Fit *fit.Engine
	// Plan says what to try for it.
	Plan plan.Profiler
	// Deployment says how it is deployed and configured.
	Deployment func() emit.Deployment
	// Container says how it runs in a container. It requires a deployment.
	Container func() discover.Container
	// Profiles are of its I/O, for a probe: files profiles/NAME.yaml.
	Profiles fs.FS

	// The rest runs on Linux only and is nil elsewhere.

	// Rollout says how a plan is carried out on its members.
	Rollout func() rollout.Procedure
	// Lab runs it on emulated volumes.
	Lab *lab.Engine
	// Existing lets a run use a server that is already running.
	Existing *existing.Engine
	// Buckets measures what bucket documents cost.
	Buckets *lab.BucketBench
}

// A List is some engines, in the order in which people are shown them. Its methods return the part
// of each engine that has it.
type List []*Engine

// with returns the engines that have a part.
func with[P any](all List, part func(e *Engine) (p P, has bool)) []engine.With[P] {
	var out []engine.With[P]
	for _, e := range all {
		if p, has := part(e); has {
			out = append(out, engine.With[P]{Traits: e.Traits, Part: p})
		}
	}
	return out
}

// Models are for scenarios and the simulator.
func (l List) Models() []*scenario.Engine {
	out := make([]*scenario.Engine, len(l))
	for i, e := range l {
		out[i] = &e.Engine
	}
	return out
}

// Sources are for what reads the engines.
func (l List) Sources() []sources.Engine {
	out := make([]sources.Engine, len(l))
	for i, e := range l {
		out[i] = e.Source
	}
	return out
}

// Rules are for the pack.
func (l List) Rules() []rules.Knowledge {
	var out []rules.Knowledge
	for _, e := range l {
		if e.Rules == nil {
			continue
		}
		k := e.Rules()
		if len(e.Source.Schemes) > 0 {
			k.Scheme = e.Source.Schemes[0]
		}
		out = append(out, k)
	}
	return out
}

// Fits are for fitting scenarios.
func (l List) Fits() []engine.With[*fit.Engine] {
	return with(l, func(e *Engine) (*fit.Engine, bool) { return e.Fit, e.Fit != nil })
}

// Plans are for planning.
func (l List) Plans() []engine.With[plan.Profiler] {
	return with(l, func(e *Engine) (plan.Profiler, bool) { return e.Plan, e.Plan != nil })
}

// Deployments are for emitting files.
func (l List) Deployments() emit.Engines {
	return emit.Engines{
		Language: scenario.NewLanguage(l.Models()),
		Deployments: with(l, func(e *Engine) (d emit.Deployment, has bool) {
			if e.Deployment == nil {
				return d, false
			}
			return e.Deployment(), true
		}),
		Others: others.Budgets,
	}
}

// Containers are for discovering what runs in a cluster.
func (l List) Containers() []engine.With[discover.Engine] {
	return with(l, func(e *Engine) (d discover.Engine, has bool) {
		if e.Container == nil {
			return d, false
		}
		return discover.Engine{Container: e.Container(), Deployment: e.Deployment()}, true
	})
}

// Rollouts are for carrying out plans.
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

// Labs are for running in the lab.
func (l List) Labs() []engine.With[*lab.Engine] {
	return with(l, func(e *Engine) (*lab.Engine, bool) { return e.Lab, e.Lab != nil })
}

// Existing are for using servers that already run.
func (l List) Existing() []engine.With[*existing.Engine] {
	return with(l, func(e *Engine) (*existing.Engine, bool) { return e.Existing, e.Existing != nil })
}

// Profiles are for a probe.
func (l List) Profiles() []fs.FS {
	var out []fs.FS
	for _, e := range l {
		if e.Profiles != nil {
			out = append(out, e.Profiles)
		}
	}
	return out
}
