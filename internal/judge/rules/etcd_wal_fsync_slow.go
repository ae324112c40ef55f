package rules

import (
	"fmt"

	"plimsoll/internal/record/timeline"
)

func etcdWALFsyncSlow() Rule {
	r := Rule{ID: "etcd/wal-fsync-slow", Title: "The WAL's fdatasync is slow", Kind: Cause, Engine: EngineEtcd,
		When:  "plimsoll:etcd_wal_fsync_p99:seconds > 0.01",
		Needs: []string{SignalPrefix + "etcd_wal_slow_fsyncs:rate"},
		Cause: "Every batch of proposals is fdatasynced to the WAL before it is acknowledged; a quorum of members has to. A slow sync delays every write, and one of a second or more costs the leader its heartbeats."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		return r.overCriterion(c, held, criterion{"etcd_wal_fsync_p99:seconds", "etcd_wal_slow_fsyncs:rate", "the WAL's fdatasync", etcdFsyncCriterionS, "8 ms"},
			func(f *Finding, inst string, over timeline.Mask) {
				if mean := c.For(SignalPrefix+"etcd_wal_fsync:seconds", "instance", inst); mean != nil {
					f.Evidence = append(f.Evidence, c.figure("mean fdatasync, median of the intervals", SignalPrefix+"etcd_wal_fsync:seconds", timeline.Quantile(mean, 0.5), "seconds", timeline.Known(mean)),
						c.figure("mean fdatasync, worst interval", SignalPrefix+"etcd_wal_fsync:seconds", timeline.Max(mean), "seconds", timeline.Known(mean)))
				}
				for _, s := range []struct{ signal, text string }{
					{"etcd_proposals_pending:count", "most proposals pending"},
					{"etcd_leader_changes:rate", "leader changes"},
					{"etcd_heartbeat_failures:rate", "heartbeats sent late"},
				} {
					if v := c.For(SignalPrefix+s.signal, "instance", inst); v != nil {
						x := timeline.Max(v)
						if s.signal != "etcd_proposals_pending:count" {
							x = timeline.Sum(v) * c.Grid.StepSeconds()
						}
						f.Evidence = append(f.Evidence, c.figure(s.text, SignalPrefix+s.signal, x, "", timeline.Known(v)))
					}
				}
				sat, measured := c.Saturated()
				if !measured {
					f.Summary += " Whether the volume has a queue or answers late by itself cannot be told without the device's counters."
				}
				f.Fixes = []Fix{{Summary: "Give etcd's WAL (--wal-dir) a volume of its own", Expect: "nothing else queues before its syncs", TradeOff: "one more volume a member"}}
				if limit, see := c.containerBinds(); limit != "" {
					f.Summary += fmt.Sprintf(" What holds the syncs back is %s (%s), not the volume.", limit, see)
					f.Fixes = []Fix{{Summary: "See " + see, Expect: "the syncs take what the device takes", TradeOff: "told there"}}
					return
				}
				if measured && Share(sat, over) < idleSaturation {
					if busy := timeline.Mean(timeline.At(c.One(SignalPrefix+"cpu_busy:ratio"), over)); busy > busyCPU {
						f.Summary += fmt.Sprintf(" No device had a queue meanwhile, but the CPUs were %s busy: a sync that is done may wait for a CPU before it returns.", pct(busy))
					} else {
						f.Summary += " No device had a queue meanwhile: each sync takes the device that long."
					}
					f.Evidence = append(f.Evidence, c.figure("share of that time in which a device was saturated", SignalPrefix+"disk_busy:ratio", Share(sat, over), "ratio", over))
					f.Fixes = append(f.Fixes, Fix{Summary: "Choose the volume by latency, not by IOPS: io2 Block Express or local NVMe; more IOPS will not help", Expect: "one fdatasync at a time goes as fast as the device answers", TradeOff: "io2 costs 0.065 USD an IOPS a month; local NVMe is lost with the instance"})
				} else {
					f.Fixes = append(f.Fixes, Fix{Summary: "Take other load off the volume, or raise the cap that binds (see the disk findings)", Expect: "the queue before the sync empties", TradeOff: "the volume's price"})
				}
			})
	}
	return r
}
