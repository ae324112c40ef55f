package plan

import (
	"runtime"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

// Options say what a plan is to reach and what it may do. The zero Options take the scenario's own
// objective.
type Options struct {
	// Sets are what the scenario has beside what is in its file. They begin every layout's own.
	Sets []scenario.Set
	// Objectives are what is to be reached; none: the scenario's.
	Objectives []scenario.Bound
	// Budget is the most that a month may cost; 0: no bound.
	Budget units.USD
	// Keep are paths that stay as they are: "host.instance", "volumes.data.type".
	Keep []string
	// Region is whose prices count; "": the catalogue's.
	Region string
	// Unpriced leaves prices out: instead of by price layouts are compared by the IOPS that they
	// order over what the volumes' types include, then by the throughput, then by the size in steps
	// of 100 GiB.
	Unpriced bool
	// AtOnce is how many settings may differ from now at once; nil: 2.
	AtOnce *int
	// Size, if not nil, is what the data is to grow to: its volume gets a new size.
	Size *Growth
	// Ephemeral lets data lie on an instance's own disks, which are empty after it was stopped.
	Ephemeral bool
	// QuerySpan is how far back a query of one sensor reads, where the workload has buckets; 0: not
	// known.
	QuerySpan units.Duration
	// Most bounds the layouts that are simulated before the plan gives up; 0: 400.
	Most int
	// Workers is how many are simulated at once; 0: as many as there are cores. It changes no
	// result.
	Workers int
	// Progress, if not nil, is told how many layouts were simulated, and the price of the last.
	Progress func(runs int, monthly units.USD)
}

// Defaults and bounds of a search.
const (
	atOnceDefault = 2
	// AtOnceMax bounds Options.AtOnce: there are no more axes of settings.
	AtOnceMax   = 6
	mostDefault = 400
	// MostMax bounds Options.Most: some hours.
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
