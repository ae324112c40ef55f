package rules

import (
	"fmt"

	"plimsoll/internal/record/timeline"
)

// throttledShare is the share of the quota's periods in which a container was throttled, above
// which clients notice: at one in four, every fourth operation waits up to a tenth of a second.
const throttledShare = 0.25

func containerCPUThrottled() Rule {
	r := Rule{ID: "container/cpu-throttled", Title: "The container's CPU quota binds", Kind: Cause,
		Traced: forProcessor,
		When:   fmt.Sprintf("plimsoll:container_cpu_throttled:ratio > %g", throttledShare),
		Cause: "The kernel lets a container run until its quota for a period (100 ms) is used up and then stops all of its threads until the period ends, whatever they hold: " +
			"the thread that writes the log, the one whose fdatasync has just returned, the raft heartbeat. Meanwhile the disk has spare capacity, and often so do the host's CPUs.",
		Words: Words{
			"throttled": "The container{{with .group}}'s parent cgroup {{.}}{{end}} hit its CPU quota in {{.share}} of the stalled time: it was throttled in {{.stopped}} of the quota periods there.",
			"used":      "It used {{.used}} of its quota of {{.quota}} CPUs{{with .busy}}; the host's CPUs were {{.}} busy{{end}}.",
		},
		Advice: map[string]Advice{
			"raise": {Summary: "Raise the container's CPU limit, or remove it and keep the request (Kubernetes: resources.limits.cpu; Docker: --cpus; systemd: CPUQuota=)",
				Expect:   "throttling stops; a faster volume would change nothing",
				TradeOff: "its neighbours may get less CPU; without a limit, a pod no longer has the QoS class Guaranteed",
				Do:       []*Remedy{raiseCPU}},
			"threads": {Summary: "Configure the engine for the number of CPUs it really has{{.hints}}",
				Expect:   "fewer threads use up the quota at the same time: the same work, with shorter pauses",
				TradeOff: "almost none", NoCommand: "it is set where the program is started"},
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
				f.Severity = Warning // almost no other time is left to compare with
			}

			in := cells.And(c.Stall.Cells)
			throttled := c.ofContainer(ContainerCPUThrottled, t)
			f.Say("throttled", Values{"group": c.groupAbove(t.Labels), "share": Part(Share(cells, c.Stall.Cells)),
				"stopped": Part(timeline.Mean(timeline.At(throttled, in)))})

			// A quota without a measured use proves nothing, so the sentence needs both.
			used, quota := timeline.Mean(timeline.At(c.ofContainer(ContainerCPUUsed, t), in)),
				timeline.Max(c.ofContainer(ContainerCPUQuota, t))
			if used == used && quota == quota {
				f.Say("used", Values{"used": Number(used), "quota": Number(quota),
					"busy": Part(timeline.Mean(timeline.At(c.One(CPUBusy), in)))})
			}

			c.figureOf(&f, "share of quota periods throttled while stalled, mean", ContainerCPUThrottled,
				timeline.Mean(timeline.At(throttled, c.Stall.Cells)), "ratio", c.Stall.Cells)
			c.figureOf(&f, "CPU time throttled per second while stalled", ContainerCPUThrottledTime,
				timeline.Mean(timeline.At(c.ofContainer(ContainerCPUThrottledTime, t), c.Stall.Cells)), "s/s",
				c.Stall.Cells)
			c.figureOf(&f, "CPUs used in the throttled intervals, mean", ContainerCPUUsed, used, "", in)
			c.figureOf(&f, "CPU quota", ContainerCPUQuota, quota, "", c.Stall.Observed)
			f.Advise("raise", nil)
			f.Advise("threads", Values{"hints": Called(c.Pack.hints(func(k Knowledge) string { return k.CoresHint }))})
			out = append(out, f)
		}

		return out
	}

	return r
}
