package rules

import (
	"fmt"

	"plimsoll/internal/record/timeline"
)

func etcdBackendCommitSlow() Rule {
	r := Rule{ID: "etcd/backend-commit-slow", Title: "The backend's commits are slow", Kind: Cause, Engine: EngineEtcd,
		When:  "plimsoll:etcd_backend_commit_p99:seconds > 0.025",
		Needs: []string{SignalPrefix + "etcd_backend_slow_commits:rate"},
		Cause: "Every 100 ms or 10,000 writes etcd commits its B+tree file (bbolt) with two fdatasyncs and all changed pages. Slow commits hold up applying, reads at the head of it and compaction; large values and a fragmented file make them larger."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		return r.overCriterion(c, held, criterion{"etcd_backend_commit_p99:seconds", "etcd_backend_slow_commits:rate", "the backend's commit", etcdCommitCriterionS, "16 ms"},
			func(f *Finding, inst string, over timeline.Mask) {
				limit, see := c.containerBinds()
				if fsync := c.For(SignalPrefix+"etcd_wal_fsync_p99:seconds", "instance", inst); fsync != nil {
					wal := timeline.Quantile(timeline.At(fsync, over), 0.5)
					f.Evidence = append(f.Evidence, c.figure("p99 of the WAL's fdatasync meanwhile, median", SignalPrefix+"etcd_wal_fsync_p99:seconds", wal, "seconds", over))
					switch {
					case wal > etcdFsyncCriterionS && limit != "":
						f.Summary += fmt.Sprintf(" The WAL's fdatasync is slow too (%s): not the size of the commits, but %s (%s).", dur(wal), limit, see)
					case wal > etcdFsyncCriterionS:
						f.Summary += fmt.Sprintf(" The WAL's fdatasync is slow too (%s): it is the volume, not the size of the commits.", dur(wal))
					case wal >= 0: // NaN where nothing was synced
						f.Summary += fmt.Sprintf(" The WAL's fdatasync is quick (%s): the commits themselves are large, or the database is on a volume of its own.", dur(wal))
					}
				}
				if limit != "" {
					f.Fixes = []Fix{{Summary: "See " + see, Expect: "commits take what the device takes", TradeOff: "told there"}}
					return
				}
				f.Fixes = []Fix{
					{Summary: "If the WAL's fdatasync is slow too, it is the volume: see that finding", Expect: "both fall together", TradeOff: "none"},
					{Summary: "Else compact and defragment, and look for large values", Expect: "fewer pages a commit", TradeOff: "a member stops answering while it defragments: one at a time"},
				}
			})
	}
	return r
}
