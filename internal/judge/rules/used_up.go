package rules

import (
	"slices"
	"time"

	"plimsoll/internal/record/timeline"
)

// Clients that find all connections in use wait in front of the server, for one of their pool. The
// server's own latencies do not contain that wait and may be quick all along: 32 connections that the
// CPUs complete 2,000 operations per second for take 16 ms each, however long the queue in front is.
// Where all connections execute and the CPUs or a device have nothing to spare, more is asked for than
// can be done. (Where both have time to spare, clients may ask again immediately, and no client waits.)
// Engines leave out the time of a stall by their own latencies, in which all connections execute
// anyway: otherwise a device would add to a stall that it has no part in.
const (
	outOfCPU = 0.9
	// waitInFrontS is for how long that must last: less is a burst, which the latencies tell.
	waitInFrontS = 10.0
	// inFrontGap is for how long in between a connection may be idle: they are looked at at one moment.
	inFrontGap = 2 * time.Second
)

// InFront is where clients wait in front of a server: all of its connections have an operation in
// progress (usedUp) for waitInFrontS or longer, and the CPUs, a container's share of them or a device
// have nothing to spare.
func (sig *Signals) InFront(usedUp timeline.Mask) timeline.Mask {
	saturated, _ := sig.Saturated()
	out := make(timeline.Mask, sig.Grid.N)
	for _, e := range usedUp.And(sig.starved().Or(saturated)).Close(sig.Cells(inFrontGap)).Episodes() {
		if float64(e.Cells())*sig.Grid.StepSeconds() < waitInFrontS {
			continue
		}
		for k := e.First; k <= e.Last; k++ {
			out[k] = true
		}
	}
	return out
}

// starved is where the CPUs, or a container's share of them, have nothing to spare. What a hypervisor
// withholds is not there either.
func (sig *Signals) starved() timeline.Mask {
	used := slices.Clone(sig.One(CPUBusy))
	for k, x := range sig.One(CPUStolen) {
		if x > 0 && k < len(used) {
			used[k] += x
		}
	}
	out := timeline.Where(used, func(x float64) bool { return x > outOfCPU })
	for _, t := range sig.Signal(ContainerCPUThrottled) {
		out = out.Or(timeline.Where(t.Values, func(x float64) bool { return x > throttledShare }))
	}
	return out
}
