package rules

import (
	"fmt"
	"math"

	"plimsoll/timeline"
)

// etcd's own criteria (etcd.io, hardware and FAQ pages): 99 % of the WAL's
// fdatasyncs under 10 ms, of the backend's commits under 25 ms.
const (
	etcdFsyncCriterionS  = 0.010
	etcdCommitCriterionS = 0.025
	etcdMinShare         = 0.05 // of the time over the criterion
)

// An etcd member that makes one sync a second has a p99 over 30 s that a single late sync
// decides: fewer than minSlowSyncs are no finding.
const (
	minSlowSyncs  = 3
	busyCPU       = 0.9
	etcdHeartbeat = 0.100 // --heartbeat-interval's default: a sync of this length delays one
)

// A criterion is one of etcd's p99s and what it must stay under.
type criterion struct {
	p99, slow string // signals
	what      string
	limit     float64 // seconds
	edge      string  // the histogram's bucket edge below the limit
}

// overCriterion judges one of etcd's p99s against its criterion, member by member.
func (r Rule) overCriterion(c *Case, held []timeline.Track, k criterion, explain func(f *Finding, instance string, over timeline.Mask)) []Finding {
	var out []Finding
	for _, h := range held {
		inst := h.Labels.Get("instance")
		p99 := c.For(SignalPrefix+k.p99, "instance", inst)
		over := timeline.Known(h.Values)
		seen := timeline.Known(p99)
		slow := c.For(SignalPrefix+k.slow, "instance", inst)
		late := timeline.Sum(slow) * c.Grid.StepSeconds()
		if Share(over, seen) < etcdMinShare || slow != nil && late < minSlowSyncs {
			continue
		}
		f := r.finding(subjectOf("etcd", inst))
		share, typical := Share(over, seen), timeline.Quantile(timeline.At(p99, over), 0.5)
		f.Weight = share
		if c.Stall.Any() {
			f.Weight = Share(over, c.Stall.Cells)
		}
		f.Severity = Warning
		if share >= 0.3 && typical >= 2*k.limit || typical >= etcdHeartbeat {
			f.Severity = Critical
		}
		f.Windows = c.Windows(over)
		f.PeriodS = c.Period(over.Close(c.Cells(5e9)))
		f.Summary = fmt.Sprintf("The p99 of %s was over %s in %s of the time: there %s at the median, %s at worst.",
			k.what, dur(k.limit), pct(share), dur(typical), dur(timeline.Max(p99)))
		f.Evidence = []Evidence{
			c.figure("p99 over 30 s, median", SignalPrefix+k.p99, timeline.Quantile(p99, 0.5), "seconds", seen),
			c.figure("p99 over 30 s, worst", SignalPrefix+k.p99, timeline.Max(p99), "seconds", seen),
			c.figure("criterion", "", k.limit, "seconds", seen),
		}
		if slow != nil {
			f.Evidence = append(f.Evidence, c.figure("how many took over "+k.edge, SignalPrefix+k.slow, math.Round(late), "", seen))
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

func etcdBackendCommitSlow() Rule {
	r := Rule{ID: "etcd/backend-commit-slow", Title: "The backend's commits are slow", Kind: Cause, Engine: EngineEtcd,
		When:  "plimsoll:etcd_backend_commit_p99:seconds > 0.025",
		Needs: []string{SignalPrefix + "etcd_backend_slow_commits:rate"},
		Cause: "Every 100 ms or 10,000 writes etcd commits its B+tree file (bbolt) with two fdatasyncs and all changed pages. Slow commits hold up applying, reads at the head of it and compaction; large values and a fragmented file make them larger."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		return r.overCriterion(c, held, criterion{"etcd_backend_commit_p99:seconds", "etcd_backend_slow_commits:rate", "the backend's commit", etcdCommitCriterionS, "16 ms"},
			func(f *Finding, inst string, over timeline.Mask) {
				if fsync := c.For(SignalPrefix+"etcd_wal_fsync_p99:seconds", "instance", inst); fsync != nil {
					wal := timeline.Quantile(timeline.At(fsync, over), 0.5)
					f.Evidence = append(f.Evidence, c.figure("p99 of the WAL's fdatasync meanwhile, median", SignalPrefix+"etcd_wal_fsync_p99:seconds", wal, "seconds", over))
					switch {
					case wal > etcdFsyncCriterionS:
						f.Summary += fmt.Sprintf(" The WAL's fdatasync is slow too (%s): it is the volume, not the size of the commits.", dur(wal))
					case wal >= 0: // NaN where nothing was synced
						f.Summary += fmt.Sprintf(" The WAL's fdatasync is quick (%s): the commits themselves are large, or the database is on a volume of its own.", dur(wal))
					}
				}
				f.Fixes = []Fix{
					{Summary: "If the WAL's fdatasync is slow too, it is the volume: see that finding", Expect: "both fall together", TradeOff: "none"},
					{Summary: "Else compact and defragment, and look for large values", Expect: "fewer pages a commit", TradeOff: "a member stops answering while it defragments: one at a time"},
				}
			})
	}
	return r
}
