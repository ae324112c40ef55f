package plan

import (
	"runtime"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

// Options are the objectives of a plan and its constraints. The zero value uses the scenario's own
// objective.
type Options struct {
	// Engines are the engines that plans support.
	Engines []database.With[Profiler]
	// Sets are facts about the deployment in addition to the scenario's file. Every layout starts with
	// them.
	Sets []scenario.Set
	// Objectives are the bounds to meet; none: the scenario's.
	Objectives []scenario.Bound
	// Budget is the maximum cost per month; 0: unlimited.
	Budget units.USD
	// Keep are paths that must not change: "host.instance", "volumes.data.type".
	Keep []string
	// New: nothing is deployed yet. The plan has no "now", machines may be smaller than the scenario's, and the
	// data volume gets the size that it needs.
	New bool
	// Unsized, with New: the size of the data volume in the scenario is a placeholder.
	Unsized bool
	// Region selects the prices; "": the provider's default region in the catalogue.
	Region string
	// Unpriced ignores prices. Instead it compares layouts by the IOPS that they provision beyond
	// what the volume types include, then by throughput, then by size in steps of 100 GiB.
	Unpriced bool
	// AtOnce is the maximum number of settings that may change together; nil: 2.
	AtOnce *int
	// Size, if not nil, describes how the data will grow. The data volume gets a new size for it.
	Size *Growth
	// To is the platform that the layout must be feasible on; nil: any. The search excludes other
	// layouts.
	To Target
	// Ephemeral allows data on an instance's local disks, which lose their contents when the instance
	// stops.
	Ephemeral bool
	// AllowBurst allows layouts whose burst credits run out, even though they miss the objectives from
	// then on.
	AllowBurst bool
	// QuerySpan is the time range that a query of one sensor reads, if the workload has buckets; 0:
	// unknown.
	QuerySpan units.Duration
	// Most bounds the number of simulated layouts before the plan gives up; 0: 400.
	Most int
	// Workers is the number of concurrent simulations; 0: one per core. It does not affect the result.
	Workers int
	// Progress, if not nil, receives the number of simulated layouts and the price of the latest.
	Progress func(runs int, monthly units.USD)

	// unbounded disables all early rejection, so that every layout runs to the end. Tests and benchmarks
	// use it as the reference.
	unbounded bool
	// ran, if not nil, receives the real time that each run took and the virtual time that it
	// simulated, for benchmarks. For a run that failed, the virtual time is its warm-up.
	ran func(took, virtual time.Duration)
}

// Defaults and bounds of a search.
const (
	atOnceDefault = 2
	// AtOnceMax bounds Options.AtOnce: no space has more settings axes.
	AtOnceMax   = 6
	mostDefault = 400
	// MostMax bounds Options.Most. That many runs take a few hours.
	MostMax = 100_000
)

func (o *Options) atOnce() int {
	if o.AtOnce == nil {
		return atOnceDefault
	}
	return min(max(*o.AtOnce, 0), AtOnceMax)
}

func (o *Options) most() int {
	if o.Most <= 0 {
		return mostDefault
	}
	return min(o.Most, MostMax)
}

func (o *Options) workers() int {
	if o.Workers <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return o.Workers
}
