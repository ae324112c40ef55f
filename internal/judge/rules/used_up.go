package rules

import (
	"slices"
	"time"

	"plimsoll/internal/record/timeline"
)

// Clients that find all connections in use wait in front of the server, for a connection from their pool. The
// server's own latencies do not contain that wait and may stay low: 32 connections for which the CPUs
// complete 2,000 operations per second take 16 ms each, however long the queue in front is. If all
// connections execute and the CPUs or a device are saturated, the load exceeds the capacity. (If both have
// spare capacity, clients may just send the next request immediately, and no client waits.) Engines exclude
// stalls by their own latencies, in which all connections execute anyway: otherwise a device would add to a
// stall that it did not cause.
const (
	outOfCPU = 0.9
	// waitInFrontS is for how long that must last: anything shorter is a burst, which the latencies
	// show.
	waitInFrontS = 10.0
	// inFrontGap is how long a connection may be idle in between: connections are sampled at one
	// moment.
	inFrontGap = 2 * time.Second
)

// InFront marks the cells in which clients wait in front of a server: all of its connections have
// an operation in progress (usedUp) for waitInFrontS or longer, and the CPUs, a container's share
// of them or a device are saturated.
func (sig *Signals) InFront(usedUp timeline.Mask) timeline.Mask {
	saturated, _ := sig.Saturated()
	out := make(timeline.Mask, sig.Grid.N)
	for _, e := range usedUp.And(sig.Starved().Or(saturated)).Close(sig.Cells(inFrontGap)).Episodes() {
		if float64(e.Cells())*sig.Grid.StepSeconds() < waitInFrontS {
			continue
		}
		for k := e.First; k <= e.Last; k++ {
			out[k] = true
		}
	}
	return out
}

// Starved marks the cells in which the CPUs, or a container's share of them, are saturated. CPU
// time withheld by a hypervisor counts as used.
func (sig *Signals) Starved() timeline.Mask {
	// The series is shared with other rules, so change a copy.
	used := slices.Clone(sig.One(CPUBusy))
	for k, x := range sig.One(CPUStolen) {
		if x > 0 && k < len(used) {
			used[k] += x
		}
	}
	out := timeline.Where(used, func(x float64) bool { return x > outOfCPU })
	for _, t := range sig.Signal(ContainerCPUThrottled) {
		out = out.Or(timeline.Where(t.Values, func(x float64) bool { return x > ThrottledShare }))
	}
	return out
}
