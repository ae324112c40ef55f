package rules

import (
	"fmt"

	"plimsoll/internal/record/timeline"
)

// throttledShare is the share of the quota's periods in which a container was stopped, above which
// clients feel it: at one in four, every fourth operation waits up to a tenth of a second.
const throttledShare = 0.25

func containerCPUThrottled() Rule {
	r := Rule{ID: "container/cpu-throttled", Title: "The container's CPU quota binds", Kind: Cause,
		Traced: forProcessor,
		When:   fmt.Sprintf("plimsoll:container_cpu_throttled:ratio > %g", throttledShare),
		Cause: "The kernel lets a container run until its quota of a period (100 ms) is used up and then stops all of its threads to the end of the period, whatever they hold: " +
			"the thread that writes the log, the one whose fdatasync has just come back, the raft heartbeat. The disk has time to spare meanwhile, and the host's CPUs often do.",
		Words: Words{
			"throttled": "The {{with .group}}group {{.}}, which the container is in,{{else}}container{{end}} was at its CPU quota in {{.share}} of the stalled time: stopped in {{.stopped}} of the periods there.",
			"used":      "It used {{.used}} of the {{.quota}} CPUs it may use{{with .busy}}; the host's were {{.}} busy{{end}}.",
		},
		Advice: map[string]Advice{
			"raise": {Summary: "Raise the container's CPU limit, or take it away and keep the request (Kubernetes: resources.limits.cpu; Docker: --cpus; systemd: CPUQuota=)",
				Expect:   "the stops end; a faster volume would change nothing",
				TradeOff: "its neighbours can be crowded; with a limit taken away a pod is no longer of the class Guaranteed",
				Do:       []*Remedy{raiseCPU}},
			"threads": {Summary: "Let the engine know how many CPUs it has{{.hints}}",
				Expect:   "fewer threads that use the quota up at once: the same work, shorter stops",
				TradeOff: "hardly any", NoCommand: "it is set where the program is started"},
		}}

	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		for _, t := range held {
			cells := timeline.Known(t.Values)
			f, ok := r.condition(c, containerName(t.Labels), cells)
			if !ok {
				continue
			}

			if f.Severity == Critical && Share(cells, c.Stall.Active) >= cpuAlways {
				f.Severity = Warning // hardly any other time is left to compare with
			}

			in := cells.And(c.Stall.Cells)
			throttled := c.ofContainer(ContainerCPUThrottled, t)
			f.Say("throttled", Values{"group": c.groupAbove(t.Labels), "share": Part(Share(cells, c.Stall.Cells)),
				"stopped": Part(timeline.Mean(timeline.At(throttled, in)))})

			used, quota := timeline.Mean(timeline.At(c.ofContainer(ContainerCPUUsed, t), in)),
				timeline.Max(c.ofContainer(ContainerCPUQuota, t))
			if used == used && quota == quota {
				f.Say("used", Values{"used": Number(used), "quota": Number(quota),
					"busy": Part(timeline.Mean(timeline.At(c.One(CPUBusy), in)))})
			}

			c.figureOf(&f, "periods in which it was stopped, of those while stalled, mean", ContainerCPUThrottled,
				timeline.Mean(timeline.At(throttled, c.Stall.Cells)), "ratio", c.Stall.Cells)
			c.figureOf(&f, "CPUs' time it was stopped, per second while stalled", ContainerCPUThrottledTime,
				timeline.Mean(timeline.At(c.ofContainer(ContainerCPUThrottledTime, t), c.Stall.Cells)), "s/s",
				c.Stall.Cells)
			c.figureOf(&f, "CPUs used in these intervals, mean", ContainerCPUUsed, used, "", in)
			c.figureOf(&f, "CPUs it may use", ContainerCPUQuota, quota, "", c.Stall.Observed)
			f.Advise("raise", nil)
			f.Advise("threads", Values{"hints": Called(c.Pack.hints(func(k Knowledge) string { return k.CoresHint }))})
			out = append(out, f)
		}

		return out
	}

	return r
}
