package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func backendCommitSlow() rules.Rule {
	rule := rules.Rule{ID: "etcd/backend-commit-slow",
		Title: "The backend's commits are slow", Kind: rules.Cause,
		When:  "plimsoll:etcd_backend_commit_p99:seconds > 0.025",
		Needs: []*rules.Signal{BackendSlowCommits},
		Cause: "Every 100 ms or 10,000 writes etcd commits its B+tree file (bbolt): it writes all changed pages with two fdatasyncs. Slow commits delay applying, the reads that wait for it, and compaction. Large values and a fragmented file make commits larger.",
		Words: criterionWords(rules.Words{
			"limited": "The WAL's fdatasync is slow too ({{.wal}}): the cause is {{.limit}} ({{.see}}), not the size of the commits.",
			"volume":  "The WAL's fdatasync is slow too ({{.wal}}): the cause is the volume, not the size of the commits.",
			"commits": "The WAL's fdatasync is fast ({{.wal}}): the commits themselves are large, or the database is on a different volume.",
		}),
		Advice: map[string]rules.Advice{
			"see": {Summary: "See {{.see}}", Expect: "commits take only as long as the device does",
				TradeOff: "see that finding", NoCommand: otherFinding},
			"volume": {Summary: "If the WAL's fdatasync is slow too, the volume is the cause: see that finding",
				Expect: "both get faster together", TradeOff: "none", NoCommand: otherFinding},
			"compact": {Summary: "Otherwise compact and defragment, and look for large values",
				Expect:   "fewer pages per commit",
				TradeOff: "a member stops answering while it defragments: one at a time",
				Do:       []*rules.Remedy{defragment}},
		}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		return overCriterion(rule, c, held,
			criterion{criteria[1], BackendCommitP99, BackendSlowCommits, "16 ms"},
			func(finding *rules.Finding, inst string, over timeline.Mask) {
				// A container's own limit makes every device look slow, so it is ruled out first.
				limit, see := c.ContainerBinds()
				if fsync := c.For(WALFsyncP99, "instance", inst); fsync != nil {
					wal := timeline.Quantile(timeline.At(fsync, over), 0.5)
					finding.Evidence = append(finding.Evidence,
						c.Figure("p99 of the WAL's fdatasync at the same time, median", WALFsyncP99, wal, "seconds", over))

					v := rules.Values{"wal": rules.Seconds(wal), "limit": rules.Called(limit), "see": rules.Called(see)}
					switch {
					case wal > fsyncCriterionS && limit != "":
						finding.Say("limited", v)
					case wal > fsyncCriterionS:
						finding.Say("volume", v)
					case wal >= 0: // false for NaN: nothing was synced
						finding.Say("commits", v)
					}
				}

				// No advice about the volume: its latency comes from the limit.
				if limit != "" {
					finding.Advise("see", rules.Values{"see": rules.Called(see)})
					return
				}

				finding.Advise("volume", nil)
				finding.Advise("compact", nil)
			})
	}

	return rule
}
