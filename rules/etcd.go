package rules

import (
	"fmt"

	"plimsoll/timeline"
)

// etcd's own criteria (etcd.io, hardware and FAQ pages): 99 % of the WAL's
// fdatasyncs under 10 ms, of the backend's commits under 25 ms.
const (
	etcdFsyncCriterionS  = 0.010
	etcdCommitCriterionS = 0.025
	etcdMinShare         = 0.05 // of the time over the criterion
	etcdSlowMemberFactor = 3.0
)

// overCriterion judges one of etcd's p99s against its criterion, member by member.
func (r Rule) overCriterion(c *Case, held []timeline.Track, p99Signal, what string, criterion float64, explain func(f *Finding, instance string, over timeline.Mask)) []Finding {
	var out []Finding
	for _, h := range held {
		inst := h.Labels.Get("instance")
		p99 := c.For(SignalPrefix+p99Signal, "instance", inst)
		over := timeline.Known(h.Values)
		seen := timeline.Known(p99)
		if Share(over, seen) < etcdMinShare {
			continue
		}
		f := r.finding(subjectOf("etcd", inst))
		f.Weight = Share(over, seen)
		f.Severity = Warning
		if f.Weight >= 0.3 || timeline.Quantile(p99, 0.5) > criterion {
			f.Severity = Critical
		}
		f.Windows = c.Windows(over)
		f.PeriodS = c.Period(over.Close(c.Cells(5e9)))
		f.Summary = fmt.Sprintf("The p99 of %s was over %s in %s of the time: median p99 %s, worst %s.",
			what, dur(criterion), pct(f.Weight), dur(timeline.Quantile(p99, 0.5)), dur(timeline.Max(p99)))
		f.Evidence = []Evidence{
			c.figure("p99 over 30 s, median", SignalPrefix+p99Signal, timeline.Quantile(p99, 0.5), "seconds", seen),
			c.figure("p99 over 30 s, worst", SignalPrefix+p99Signal, timeline.Max(p99), "seconds", seen),
			c.figure("criterion", "", criterion, "seconds", seen),
		}
		explain(&f, inst, over)
		out = append(out, f)
	}
	return out
}

func subjectOf(what, instance string) string {
	if instance == "" {
		return what
	}
	return what + " " + instance
}

func etcdWALFsyncSlow() Rule {
	r := Rule{ID: "etcd/wal-fsync-slow", Title: "The WAL's fdatasync is slow", Kind: Cause, Engine: EngineEtcd,
		When:  "plimsoll:etcd_wal_fsync_p99:seconds > 0.01",
		Cause: "Every batch of proposals is fdatasynced to the WAL before it is acknowledged; a quorum of members has to. A slow sync delays every write, and one of a second or more costs the leader its heartbeats."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		return r.overCriterion(c, held, "etcd_wal_fsync_p99:seconds", "the WAL's fdatasync", etcdFsyncCriterionS,
			func(f *Finding, inst string, over timeline.Mask) {
				if mean := c.For(SignalPrefix+"etcd_wal_fsync:seconds", "instance", inst); mean != nil {
					f.Evidence = append(f.Evidence, c.figure("mean fdatasync, median of the intervals", SignalPrefix+"etcd_wal_fsync:seconds", timeline.Quantile(mean, 0.5), "seconds", timeline.Known(mean)),
						c.figure("mean fdatasync, worst interval", SignalPrefix+"etcd_wal_fsync:seconds", timeline.Max(mean), "seconds", timeline.Known(mean)))
				}
				for _, s := range []struct{ signal, text string }{
					{"etcd_proposals_pending:count", "most proposals pending"},
					{"etcd_leader_changes:rate", "leader changes"},
				} {
					if v := c.For(SignalPrefix+s.signal, "instance", inst); v != nil {
						x := timeline.Max(v)
						if s.signal == "etcd_leader_changes:rate" {
							x = timeline.Sum(v) * c.Grid.StepSeconds()
						}
						f.Evidence = append(f.Evidence, c.figure(s.text, SignalPrefix+s.signal, x, "", timeline.Known(v)))
					}
				}
				sat, measured := c.Saturated()
				f.Fixes = []Fix{{Summary: "Give etcd's WAL (--wal-dir) a volume of its own", Expect: "nothing else queues before its syncs", TradeOff: "one more volume a member"}}
				if measured && Share(sat, over) < 0.1 {
					f.Evidence = append(f.Evidence, c.figure("share of that time in which a device was saturated", SignalPrefix+"disk_busy:ratio", Share(sat, over), "ratio", over))
					f.Fixes = append(f.Fixes, Fix{Summary: "Choose the volume by latency, not by IOPS: io2 Block Express or local NVMe; more IOPS will not help", Expect: "one fdatasync at a time goes as fast as the device answers", TradeOff: "io2 costs 0.065 USD an IOPS a month; local NVMe is lost with the instance"})
				} else {
					f.Fixes = append(f.Fixes, Fix{Summary: "Take other load off the volume, or raise the cap that binds (see the disk findings)", Expect: "the queue before the sync empties", TradeOff: "the volume's price"})
				}
			})
	}
	return r
}

func etcdBackendCommitSlow() Rule {
	r := Rule{ID: "etcd/backend-commit-slow", Title: "The backend's commits are slow", Kind: Cause, Engine: EngineEtcd,
		When:  "plimsoll:etcd_backend_commit_p99:seconds > 0.025",
		Cause: "Every 100 ms or 10,000 writes etcd commits its B+tree file (bbolt) with two fdatasyncs and all changed pages. Slow commits hold up applying, reads at the head of it and compaction; large values and a fragmented file make them larger."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		return r.overCriterion(c, held, "etcd_backend_commit_p99:seconds", "the backend's commit", etcdCommitCriterionS,
			func(f *Finding, inst string, over timeline.Mask) {
				if fsync := c.For(SignalPrefix+"etcd_wal_fsync_p99:seconds", "instance", inst); fsync != nil {
					f.Evidence = append(f.Evidence, c.figure("p99 of the WAL's fdatasync meanwhile, median", SignalPrefix+"etcd_wal_fsync_p99:seconds", timeline.Quantile(timeline.At(fsync, over), 0.5), "seconds", over))
				}
				f.Fixes = []Fix{
					{Summary: "If the WAL's fdatasync is slow too, it is the volume: see that finding", Expect: "both fall together", TradeOff: "none"},
					{Summary: "Else compact and defragment, and look for large values", Expect: "fewer pages a commit", TradeOff: "a member stops answering while it defragments: one at a time"},
				}
			})
	}
	return r
}

func etcdSlowMember() Rule {
	r := Rule{ID: "etcd/slow-member", Title: "One member's disk is slower than the others'", Kind: Cause, Engine: EngineEtcd,
		When:  "plimsoll:etcd_wal_fsync:seconds > on() group_left() (3 * min(plimsoll:etcd_wal_fsync:seconds))",
		Cause: "A write is committed by the fastest majority: a slow minority costs nothing until a fast member fails, and a slow leader or a slow majority costs every write."}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		members := c.Signal(SignalPrefix + "etcd_wal_fsync:seconds")
		if len(members) < 2 {
			return nil
		}
		best := 0.0
		slow := 0
		med := make([]float64, len(members))
		for i, m := range members {
			med[i] = timeline.Quantile(m.Values, 0.5)
			if best == 0 || med[i] < best {
				best = med[i]
			}
		}
		for _, x := range med {
			if x > etcdSlowMemberFactor*best {
				slow++
			}
		}
		var out []Finding
		for i, m := range members {
			if med[i] <= etcdSlowMemberFactor*best {
				continue
			}
			f := r.finding(subjectOf("etcd", m.Labels.Get("instance")))
			quorum := len(members)/2 + 1
			f.Severity, f.Weight = Warning, 0
			blocks := len(members)-slow < quorum
			f.Summary = fmt.Sprintf("Its WAL's fdatasync takes %s at the median, the fastest member's %s.", dur(med[i]), dur(best))
			if blocks {
				f.Severity, f.Weight = Critical, 1
				f.Summary += fmt.Sprintf(" %d of %d members are slow, so no majority is fast: every write waits for one of them.", slow, len(members))
			} else {
				f.Summary += fmt.Sprintf(" %d of %d members are fast, a majority: writes do not wait for it unless it leads.", len(members)-slow, len(members))
			}
			f.Evidence = []Evidence{
				c.figure("median fdatasync of this member", SignalPrefix+"etcd_wal_fsync:seconds", med[i], "seconds", timeline.Known(m.Values)),
				c.figure("median fdatasync of the fastest member", SignalPrefix+"etcd_wal_fsync:seconds", best, "seconds", timeline.Known(m.Values)),
			}
			if l := c.For(SignalPrefix+"etcd_is_leader:bool", "instance", m.Labels.Get("instance")); l != nil {
				f.Evidence = append(f.Evidence, c.figure("share of the time it led", SignalPrefix+"etcd_is_leader:bool", timeline.Mean(l), "ratio", timeline.Known(l)))
			}
			f.Fixes = []Fix{{Summary: "Move the member to a volume like the others'; move leadership off it meanwhile (etcdctl move-leader)", Expect: "the next failure of a fast member costs nothing", TradeOff: "the volume's price"}}
			out = append(out, f)
		}
		return out
	}
	return r
}
