package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func backendCommitSlow() rules.Rule {
	r := rules.Rule{ID: "etcd/backend-commit-slow", Title: "The backend's commits are slow", Kind: rules.Cause,
		When:  "plimsoll:etcd_backend_commit_p99:seconds > 0.025",
		Needs: []*rules.Signal{BackendSlowCommits},
		Cause: "Every 100 ms or 10,000 writes etcd commits its B+tree file (bbolt) with two fdatasyncs and all changed pages. Slow commits hold up applying, reads at the head of it and compaction; large values and a fragmented file make them larger.",
		Words: criterionWords(rules.Words{
			"limited": "The WAL's fdatasync is slow too ({{.wal}}): not the size of the commits, but {{.limit}} ({{.see}}).",
			"volume":  "The WAL's fdatasync is slow too ({{.wal}}): it is the volume, not the size of the commits.",
			"commits": "The WAL's fdatasync is quick ({{.wal}}): the commits themselves are large, or the database is on a volume of its own.",
		}),
		Advice: map[string]rules.Advice{
			"see": {Summary: "See {{.see}}", Expect: "commits take what the device takes",
				TradeOff: "see that finding", NoCommand: otherFinding},
			"volume": {Summary: "If the WAL's fdatasync is slow too, it is the volume: see that finding",
				Expect: "both fall together", TradeOff: "none", NoCommand: otherFinding},
			"compact": {Summary: "Else compact and defragment, and look for large values",
				Expect: "fewer pages a commit", TradeOff: "a member stops answering while it defragments: one at a time",
				Do: []*rules.Remedy{defragment}},
		}}

	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		return overCriterion(r, c, held,
			criterion{BackendCommitP99, BackendSlowCommits, "the backend's commit",
				commitCriterionS, "16 ms", "backend commits"},
			func(f *rules.Finding, inst string, over timeline.Mask) {
				limit, see := c.ContainerBinds()
				if fsync := c.For(WALFsyncP99, "instance", inst); fsync != nil {
					wal := timeline.Quantile(timeline.At(fsync, over), 0.5)
					f.Evidence = append(f.Evidence,
						c.Figure("p99 of the WAL's fdatasync meanwhile, median", WALFsyncP99, wal, "seconds", over))

					v := rules.Values{"wal": rules.Seconds(wal), "limit": rules.Called(limit), "see": rules.Called(see)}
					switch {
					case wal > fsyncCriterionS && limit != "":
						f.Say("limited", v)
					case wal > fsyncCriterionS:
						f.Say("volume", v)
					case wal >= 0: // NaN where nothing was synced
						f.Say("commits", v)
					}
				}

				if limit != "" {
					f.Advise("see", rules.Values{"see": rules.Called(see)})
					return
				}

				f.Advise("volume", nil)
				f.Advise("compact", nil)
			})
	}

	return r
}
