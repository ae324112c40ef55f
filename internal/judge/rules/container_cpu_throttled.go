package rules

import (
	"fmt"

	"plimsoll/internal/record/timeline"
)

// throttledShare is the part of the quota's periods in which a container was stopped, from which clients feel it: in one of four, every
// fourth operation waits up to a tenth of a second.
const throttledShare = 0.25

func containerCPUThrottled() Rule {
	r := Rule{ID: "container/cpu-throttled", Title: "The container's CPU quota binds", Kind: Cause,
		When: fmt.Sprintf("plimsoll:container_cpu_throttled:ratio > %g", throttledShare),
		Cause: "The kernel lets a container run until its quota of a period (100 ms) is used up and then stops all of its threads to the end of the period, whatever they hold: " +
			"the thread that writes the log, the one whose fdatasync has just come back, the raft heartbeat. The disk has time to spare meanwhile, and the host's CPUs often do."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		for _, t := range held {
			cells := timeline.Known(t.Values)
			f, ok := r.condition(c, containerName(t.Labels), cells)
			if !ok {
				continue
			}
			if f.Severity == Critical && Share(cells, c.Stall.Active) >= cpuAlways {
				f.Severity = Warning // there is next to no other time to compare with
			}
			in := cells.And(c.Stall.Cells)
			throttled := c.ofContainer(ContainerCPUThrottled, t)
			f.Summary = fmt.Sprintf("T%s was at its CPU quota in %s of the stalled time: stopped in %s of the periods there.",
				c.whose(t.Labels)[1:], pct(Share(cells, c.Stall.Cells)), pct(timeline.Mean(timeline.At(throttled, in))))
			used, quota := timeline.Mean(timeline.At(c.ofContainer(ContainerCPUUsed, t), in)), timeline.Max(c.ofContainer(ContainerCPUQuota, t))
			if used == used && quota == quota {
				f.Summary += fmt.Sprintf(" It used %s of the %s CPUs it may use", num(used), num(quota))
				if busy := timeline.Mean(timeline.At(c.One(CPUBusy), in)); busy == busy {
					f.Summary += fmt.Sprintf("; the host's were %s busy", pct(busy))
				}
				f.Summary += "."
			}
			c.figureOf(&f, "periods in which it was stopped, of those while stalled, mean", ContainerCPUThrottled, timeline.Mean(timeline.At(throttled, c.Stall.Cells)), "ratio", c.Stall.Cells)
			c.figureOf(&f, "CPUs' time it was stopped, per second while stalled", ContainerCPUThrottledTime,
				timeline.Mean(timeline.At(c.ofContainer(ContainerCPUThrottledTime, t), c.Stall.Cells)), "s/s", c.Stall.Cells)
			c.figureOf(&f, "CPUs used in these intervals, mean", ContainerCPUUsed, used, "", in)
			c.figureOf(&f, "CPUs it may use", ContainerCPUQuota, quota, "", c.Stall.Observed)
			f.Fixes = []Fix{
				{Summary: "Raise the container's CPU limit, or take it away and keep the request (Kubernetes: resources.limits.cpu; Docker: --cpus; systemd: CPUQuota=)",
					Expect: "the stops end; a faster volume would change nothing", TradeOff: "its neighbours can be crowded; with a limit taken away a pod is no longer of the class Guaranteed"},
				{Summary: "Let the engine know how many CPUs it has" + c.Pack.hints(func(k Knowledge) string { return k.CoresHint }),
					Expect: "fewer threads that use the quota up at once: the same work, shorter stops", TradeOff: "hardly any"},
			}
			out = append(out, f)
		}
		return out
	}
	return r
}
