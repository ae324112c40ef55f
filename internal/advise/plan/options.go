package plan

import (
	"runtime"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// Options say what a plan must reach and what it may do. The zero Options use the scenario's own
// objective.
type Options struct {
	// Engines are those that can be planned for.
	Engines []engine.With[Profiler]
	// Sets are what the scenario has beside what is in its file. They begin every layout's own.
	Sets []scenario.Set
	// Objectives are the bounds to meet; none: the scenario's.
	Objectives []scenario.Bound
	// Budget is the most that a month may cost; 0: unlimited.
	Budget units.USD
	// Keep are paths that must not change: "host.instance", "volumes.data.type".
	Keep []string
	// Region selects the prices; "": the catalogue's.
	Region string
	// Unpriced ignores prices: instead, layouts are compared by the IOPS that they order beyond
	// what the volumes' types include, then by the throughput, then by the size in steps of 100
	// GiB.
	Unpriced bool
	// AtOnce is how many settings may differ from the present ones; nil: 2.
	AtOnce *int
	// Size, if not nil, is what the data will grow to: its volume gets a new size.
	Size *Growth
	// To is where the layout is to be carried out; nil: anywhere. Layouts that cannot be are not
	// looked at.
	To Target
	// Ephemeral allows data on an instance's own disks, which are empty after the instance was
	// stopped.
	Ephemeral bool
	// AllowBurst allows layouts whose burst credits run out, and which miss the objectives from then
	// on.
	AllowBurst bool
	// QuerySpan is how far back a query of one sensor reads, if the workload has buckets; 0:
	// unknown.
	QuerySpan units.Duration
	// Most bounds the layouts that are simulated before the plan gives up; 0: 400.
	Most int
	// Workers is the number of concurrent simulations; 0: one per core. It changes no result.
	Workers int
	// Progress, if not nil, receives the number of simulated layouts, and the price of the last.
	Progress func(runs int, monthly units.USD)

	// unbounded runs every layout to its end that the search comes to: for tests and benchmarks,
	// which compare with that.
	unbounded bool
	// ran, if not nil, receives the real time that each run took and the virtual time that it
	// simulated: for benchmarks. Of a run that was given up, that is its warm-up.
	ran func(took, virtual time.Duration)
}

// Defaults and bounds of a search.
const (
	atOnceDefault = 2
	// AtOnceMax bounds Options.AtOnce: there are no more axes of settings.
	AtOnceMax   = 6
	mostDefault = 400
	// MostMax bounds Options.Most: a few hours.
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
