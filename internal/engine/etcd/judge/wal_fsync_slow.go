package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func walFsyncSlow() rules.Rule {
	r := rules.Rule{ID: "etcd/wal-fsync-slow", Title: "The WAL's fdatasync is slow", Kind: rules.Cause,
		When:  "plimsoll:etcd_wal_fsync_p99:seconds > 0.01",
		Needs: []*rules.Signal{WALSlowFsyncs},
		Cause: "Every batch of proposals is fdatasynced to the WAL before it is acknowledged; a quorum of members has to. A slow sync delays every write, and one of a second or more costs the leader its heartbeats.",
		Words: criterionWords(rules.Words{
			"not measured": "Whether the volume has a queue or answers late by itself cannot be known without the device's counters.",
			"limited":      "What holds the syncs back is {{.limit}} ({{.see}}), not the volume.",
			"CPUs":         "No device had a queue meanwhile, but the CPUs were {{.busy}} busy: a sync that is done may wait for a CPU before it returns.",
			"device":       "No device had a queue meanwhile: each sync takes the device that long.",
		}),
		Advice: map[string]rules.Advice{
			"apart": {Summary: "Give etcd's WAL (--wal-dir) a volume of its own",
				Expect: "nothing else queues before its syncs", TradeOff: "one more volume a member",
				Do: []*rules.Remedy{rules.LogApart}},
			"see": {Summary: "See {{.see}}", Expect: "the syncs take what the device takes",
				TradeOff: "see that finding", NoCommand: otherFinding},
			"latency": {Summary: "Choose the volume by latency, not by IOPS: io2 Block Express or local NVMe; more IOPS will not help",
				Expect:    "one fdatasync at a time goes as fast as the device answers",
				TradeOff:  "io2 costs 0.065 USD an IOPS a month; local NVMe is lost with the instance",
				NoCommand: "a member on another kind of volume is a new member: plimsoll plan and emit write the steps"},
			"load": {Summary: "Take other load off the volume, or raise the cap that binds (see the disk findings)",
				Expect: "the queue before the sync empties", TradeOff: "the volume's price",
				NoCommand: "the disk findings have the commands"},
		}}

	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		return overCriterion(r, c, held,
			criterion{WALFsyncP99, WALSlowFsyncs, "the WAL's fdatasync", fsyncCriterionS, "8 ms", "WAL fdatasyncs"},
			func(f *rules.Finding, inst string, over timeline.Mask) {
				if mean := c.For(WALFsync, "instance", inst); mean != nil {
					f.Evidence = append(f.Evidence,
						c.Figure("mean fdatasync, median of the intervals", WALFsync, timeline.Quantile(mean, 0.5), "seconds",
							timeline.Known(mean)),
						c.Figure("mean fdatasync, worst interval", WALFsync, timeline.Max(mean), "seconds",
							timeline.Known(mean)))
				}

				for _, s := range []struct {
					signal *rules.Signal
					text   string
				}{
					{ProposalsPending, "most proposals pending"},
					{LeaderChanges, "leader changes"},
					{HeartbeatFailures, "heartbeats sent late"},
				} {
					if v := c.For(s.signal, "instance", inst); v != nil {
						x := timeline.Max(v)
						if s.signal != ProposalsPending {
							x = timeline.Sum(v) * c.Grid.StepSeconds()
						}
						f.Evidence = append(f.Evidence, c.Figure(s.text, s.signal, x, "", timeline.Known(v)))
					}
				}

				sat, measured := c.Saturated()
				if !measured {
					f.Say("not measured", nil)
				}

				if limit, see := c.ContainerBinds(); limit != "" {
					v := rules.Values{"limit": rules.Called(limit), "see": rules.Called(see)}
					f.Say("limited", v)
					f.Advise("see", v)
					return
				}

				f.Advise("apart", nil)
				if measured && rules.Share(sat, over) < rules.IdleSaturation {
					if busy := timeline.Mean(timeline.At(c.One(rules.CPUBusy), over)); busy > busyCPU {
						f.Say("CPUs", rules.Values{"busy": rules.Part(busy)})
					} else {
						f.Say("device", nil)
					}
					f.Evidence = append(f.Evidence,
						c.Figure("share of that time in which a device was saturated", rules.DiskBusy, rules.Share(sat, over),
							"ratio", over))
					f.Advise("latency", nil)
				} else {
					f.Advise("load", nil)
				}
			})
	}

	return r
}
