package corerules

import (
	"fmt"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func containerCPUThrottled() rules.Rule {
	rule := rules.Rule{ID: "container/cpu-throttled", Title: "The container's CPU quota binds",
		Kind:   rules.Cause,
		Traced: forProcessor,
		When:   fmt.Sprintf("plimsoll:container_cpu_throttled:ratio > %g", rules.ThrottledShare),
		Cause: "The kernel lets a container run until its quota for a period (100 ms) is used up and then stops all of its threads until the period ends, whatever they hold: " +
			"the thread that writes the log, the one whose fdatasync has just returned, the raft heartbeat. Meanwhile the disk has spare capacity, and often so do the host's CPUs.",
		Words: rules.Words{
			"throttled": "The container{{with .group}}'s parent cgroup {{.}}{{end}} hit its CPU quota in {{.share}} of the stalled time: it was throttled in {{.stopped}} of the quota periods there.",
			"used":      "It used {{.used}} of its quota of {{.quota}} CPUs{{with .busy}}; the host's CPUs were {{.}} busy{{end}}.",
		},
		Advice: map[string]rules.Advice{
			"raise": {Summary: "Raise the container's CPU limit, or remove it and keep the request (Kubernetes: resources.limits.cpu; Docker: --cpus; systemd: CPUQuota=)",
				Expect:   "throttling stops; a faster volume would change nothing",
				TradeOff: "its neighbours may get less CPU; without a limit, a pod no longer has the QoS class Guaranteed",
				Do:       []*rules.Remedy{raiseCPU}},
			"threads": {Summary: "Configure the engine for the number of CPUs it really has{{.hints}}",
				Expect:   "fewer threads use up the quota at the same time: the same work, with shorter pauses",
				TradeOff: "almost none", NoCommand: "it is set where the program is started"},
		}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, track := range held {
			cells := timeline.Known(track.Values)
			finding, ok := rule.Binds(input, rules.ContainerName(track.Labels), cells)
			if !ok {
				continue
			}

			if rules.Share(cells, input.Stall.Active) >= cpuAlways { // almost no other time to compare with
				finding.Severity = rules.LessThanCritical(finding.Severity)
			}

			in := cells.And(input.Stall.Cells)
			throttled := input.OfContainer(rules.ContainerCPUThrottled, track)
			finding.Say("throttled", rules.Values{"group": input.GroupAbove(track.Labels), "share": rules.Part(rules.Share(cells, input.Stall.Cells)),
				"stopped": rules.Part(timeline.Mean(timeline.At(throttled, in)))})

			// A quota without a measured use proves nothing, so the sentence needs both.
			used, quota := timeline.Mean(timeline.At(input.OfContainer(rules.ContainerCPUUsed, track), in)),
				timeline.Max(input.OfContainer(rules.ContainerCPUQuota, track))
			if used == used && quota == quota {
				finding.Say("used", rules.Values{"used": rules.Number(used), "quota": rules.Number(quota),
					"busy": rules.Part(timeline.Mean(timeline.At(input.One(rules.CPUBusy), in)))})
			}

			input.AddFigure(&finding, "share of quota periods throttled while stalled, mean", rules.ContainerCPUThrottled,
				timeline.Mean(timeline.At(throttled, input.Stall.Cells)), "ratio", input.Stall.Cells)
			input.AddFigure(&finding, "CPU time throttled per second while stalled", rules.ContainerCPUThrottledTime,
				timeline.Mean(timeline.At(input.OfContainer(rules.ContainerCPUThrottledTime, track), input.Stall.Cells)),
				"s/s",
				input.Stall.Cells)
			input.AddFigure(&finding, "CPUs used in the throttled intervals, mean", rules.ContainerCPUUsed, used, "", in)
			input.AddFigure(&finding, "CPU quota", rules.ContainerCPUQuota, quota, "", input.Stall.Observed)
			finding.Advise("raise", nil)
			finding.Advise("threads", rules.Values{"hints": rules.Called(input.Pack.Hints(func(k rules.Knowledge) string { return k.CoresHint }))})
			out = append(out, finding)
		}

		return out
	}

	return rule
}
