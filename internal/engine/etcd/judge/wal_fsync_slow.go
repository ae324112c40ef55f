package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func walFsyncSlow() rules.Rule {
	rule := rules.Rule{ID: "etcd/wal-fsync-slow", Title: "The WAL's fdatasync is slow", Kind: rules.Cause,
		When:  "plimsoll:etcd_wal_fsync_p99:seconds > 0.01",
		Needs: []*rules.Signal{WALSlowFsyncs},
		Cause: "A quorum of members has to fdatasync every batch of proposals to the WAL before it is acknowledged. A slow sync delays every write, and one of a second or more makes the leader miss its heartbeats.",
		Words: criterionWords(rules.Words{
			"not measured": "Without the device's counters it is unknown whether the volume has a queue or is slow by itself.",
			"limited":      "The syncs are limited by {{.limit}} ({{.see}}), not by the volume.",
			"CPUs":         "Meanwhile no device had a queue, but the CPUs were {{.busy}} busy: a completed sync may wait for a CPU before it returns.",
			"device":       "Meanwhile no device had a queue: the device itself takes that long for each sync.",
		}),
		Advice: map[string]rules.Advice{
			"apart": apartAdvice,
			"see": {Summary: "See {{.see}}", Expect: "syncs take only as long as the device does",
				TradeOff: "see that finding", NoCommand: otherFinding},
			"latency": {Summary: "Choose the volume by latency, not by IOPS: io2 Block Express or local NVMe; more IOPS will not help",
				Expect:    "each fdatasync is as fast as the device",
				TradeOff:  "io2 costs 0.065 USD per IOPS a month; local NVMe is lost with the instance",
				NoCommand: "changing the kind of volume means adding a new member: plimsoll plan and emit write the steps"},
			"load": {Summary: "Take other load off the volume, or raise the cap that binds (see the disk findings)",
				Expect: "the queue ahead of the sync empties", TradeOff: "the volume's price",
				NoCommand: "the disk findings have the commands"},
		}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		return overCriterion(rule, input, held,
			criterion{criteria[0], WALFsyncP99, WALSlowFsyncs, "8 ms"},
			func(finding *rules.Finding, inst string, over timeline.Mask) {
				if mean := input.For(WALFsync, "instance", inst); mean != nil {
					finding.Evidence = append(finding.Evidence,
						input.Figure("mean fdatasync, median of the intervals", WALFsync, timeline.Quantile(mean, 0.5), "seconds",
							timeline.Known(mean)),
						input.Figure("mean fdatasync, slowest interval", WALFsync, timeline.Max(mean), "seconds",
							timeline.Known(mean)))
				}

				for _, s := range []struct {
					signal *rules.Signal
					text   string
				}{
					{ProposalsPending, "pending proposals, maximum"},
					{LeaderChanges, "leader changes"},
					{HeartbeatFailures, "heartbeats sent late"},
				} {
					if v := input.For(s.signal, "instance", inst); v != nil {
						x := timeline.Max(v)
						if s.signal != ProposalsPending {
							x = timeline.Sum(v) * input.Grid.StepSeconds()
						}
						finding.Evidence = append(finding.Evidence, input.Figure(s.text, s.signal, x, "", timeline.Known(v)))
					}
				}

				sat, measured := input.Saturated()
				if !measured {
					finding.Say("not measured", nil)
				}

				// A container's limit explains slow syncs, whatever the volume does.
				if limit, see := input.ContainerBinds(); limit != "" {
					v := rules.Values{"limit": rules.Called(limit), "see": rules.Called(see)}
					finding.Say("limited", v)
					finding.Advise("see", v)
					return
				}

				finding.Advise("apart", nil)
				if measured && rules.Share(sat, over) < rules.IdleSaturation {
					if busy := timeline.Mean(timeline.At(input.One(rules.CPUBusy), over)); busy > busyCPU {
						finding.Say("CPUs", rules.Values{"busy": rules.Part(busy)})
					} else {
						finding.Say("device", nil)
					}
					finding.Evidence = append(finding.Evidence,
						input.Figure("share of that time with a saturated device", rules.DiskBusy, rules.Share(sat, over),
							"ratio", over))
					finding.Advise("latency", nil)
				} else {
					finding.Advise("load", nil)
				}
			})
	}

	return rule
}
