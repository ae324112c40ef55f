//go:build linux

package run

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/loadgen"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/simulate"
)

// result returns the result of a finished run.
func (x *experiment) result(ctx context.Context) (*Result, error) {
	asked, err := x.load.Result()
	if err != nil {
		return nil, err
	}

	o := simulate.Observed{
		From: x.from, End: x.end, Operations: asked.Operations, Asked: asked.Asked, Refused: asked.Refused,
		Cycles:  x.observed(),
		Volumes: x.watch.volumes(),
		Host: simulate.HostResult{Machine: thisMachine(), DirtyBytesMax: x.watch.dirtyMax,
			CPUBusy: x.watch.cpuBusy / max(x.watch.cpuAll, 1)},
	}

	// With an existing server, this machine only runs the clients.
	if v := x.opt.Existing; v != nil {
		if o.Host.Machine = v.Address; !v.Local {
			o.Host.DirtyBytesMax, o.Host.CPUBusy = 0, 0 // this machine is not the server's
		}
	}

	if x.opt.Series {
		o.Series = x.watch.series(len(latency.NewSeries(x.from, x.end).Cells))
	}

	if err := x.describe(ctx, asked); err != nil {
		return nil, err
	}

	if x.record != nil {
		if err := x.record.end(x.sc, &x.lab); err != nil {
			x.remark("%v", err)
		}
	}

	return &Result{Result: o.Result(x.sc), Source: "lab", Lab: x.lab, PowerLoss: x.power}, nil
}

// observed returns the checkpoints in workload time.
func (x *experiment) observed() []database.Cycle {
	slices.SortFunc(x.cycles, func(a, b lab.Cycle) int { return a.From.Compare(b.From) })
	out := make([]database.Cycle, len(x.cycles))
	for i, c := range x.cycles {
		out[i] = database.Cycle{Start: x.load.At(c.From), End: vtime.Never}
		if !c.To.IsZero() {
			out[i].End = x.load.At(c.To)
		}
	}
	return out
}

func thisMachine() string {
	return fmt.Sprintf("this machine's %d cores and %s", runtime.NumCPU(), units.Bytes(float64(memory())))
}

// describe fills in the description of the lab, with remarks.
func (x *experiment) describe(ctx context.Context, asked *loadgen.Result) error {
	described := &x.lab
	described.Server, described.Kernel, described.Cores, described.Memory = x.server.Describe(), kernel(),
		runtime.NumCPU(), memory()
	described.Failed, described.Errors = asked.Failed, asked.Errors

	if described.Errors == nil {
		described.Errors = map[string]int64{}
	}

	if described.Remarks == nil {
		described.Remarks = []string{}
	}

	all, err := x.m.status(ctx)
	if err != nil {
		return err
	}

	described.Backing = all.Backing
	for _, s := range all.Volumes {
		described.FileSystem = s.FileSystem
		// The worst values of all spans between power losses, because the counters restart after
		// each.
		e := x.watch.tracks[s.Name].worst
		described.Volumes = append(described.Volumes, e)
		described.Saturated = described.Saturated || e.Saturated
		if e.Refused > 0 {
			x.remark("%d writes to volume %s failed because its image is full: use a folder with more space",
				e.Refused, s.Name)
		}
	}

	d := func(t units.Duration) float64 { return float64(t) / 1e9 }
	described.Pauses = Pauses{asked.Pauses.Count, d(asked.Pauses.Total), d(asked.Pauses.Longest),
		asked.Pauses.Aside}
	described.Dispatch = Dispatch{d(asked.LateP50), d(asked.LateP99), d(asked.LateMax), asked.Behind}

	if described.Saturated {
		x.remark("the emulator could not keep up on this machine: the volumes were slower than the real ones would be, so this result is not valid")
	}

	if asked.Behind {
		x.remark("operations began late because the machine's CPUs were busy, which is part of these latencies")
	}

	if described.Pauses.Aside > 0 {
		x.remark("this machine was paused %d times, for %s in total and %s at most: the %d operations affected have no latency here",
			described.Pauses.Count, units.Seconds(described.Pauses.Total), units.Seconds(described.Pauses.Longest),
			described.Pauses.Aside)
	}

	if described.Existing = x.opt.Existing; described.Existing == nil && described.Cores != x.sc.Host.Cores {
		x.remark("the scenario's %d cores are not emulated: this machine's %d ran engine, load generator and volumes together",
			x.sc.Host.Cores, described.Cores)
	}

	if asked.Forgotten > 0 {
		x.remark("%d writes could not be verified: they went to more documents than can be remembered",
			asked.Forgotten)
	}

	return nil
}
