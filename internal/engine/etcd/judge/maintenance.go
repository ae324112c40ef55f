package judge

import (
	"math"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// oneBurst joins cells that belong to the same compaction or burst of requests.
const oneBurst = 5 * time.Second

const (
	// longPauses is how many pauses of over 128 ms (a bucket boundary of the histogram) clients
	// notice. Fewer may be batches that happened to run while the disk was busy.
	longPauses = 3.0
	// pausedTime is the share of a compaction's time in which it holds the lock.
	pausedTime = 0.3
)

func compactionPauses() rules.Rule {
	rule := rules.Rule{ID: "etcd/compaction-pauses", Title: "Compactions pause the members", Kind: rules.Cause,
		When:  "plimsoll:etcd_compaction_long_pauses:rate > 0",
		Needs: []*rules.Signal{CompactionLongPauses, CompactionPauseTime},
		Cause: "A compaction deletes old revisions in batches of 1,000 keys. Each batch holds the backend's lock while it reads and deletes, and then commits (3.4 to 3.8, kvstore_compaction.go). With large values or a slow disk a batch takes hundreds of milliseconds, and requests wait for it.",
		Words: rules.Words{
			"pauses":   "Compactions paused the member for over 128 ms {{.long}} times{{with .every}}, every {{.}}{{end}}; they held the backend for {{.share}} of that time.",
			"not disk": "No volume fixes this: otherwise the backend's commits take {{.commit}}, so the size of the batches is the cause.",
			"disk":     "The backend's commits are slow at other times too ({{.commit}}): each batch waits for them.",
		},
		Advice: map[string]rules.Advice{
			"often": {Summary: "Compact more often and less each time: --auto-compaction-mode=periodic with a short --auto-compaction-retention (Kubernetes compacts every 5 min by itself)",
				Expect:    "shorter compactions",
				TradeOff:  "less history for watchers",
				NoCommand: "it depends on who runs the compaction"},
			"batches": {Summary: "From 3.6 on: a smaller --compaction-batch-limit and a longer --compaction-sleep-interval (--experimental-... before)",
				Expect:    "shorter pauses",
				TradeOff:  "compactions take longer",
				NoCommand: "each member has to restart"},
		}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		return eachMember(held, func(h timeline.Track, inst string, cells timeline.Mask) (rules.Finding, bool) {
			long := math.Round(timeline.Sum(h.Values) * c.Grid.StepSeconds())
			share := timeline.Mean(timeline.At(c.For(CompactionPauseTime, "instance", inst), cells))

			// A coarse grid averages the share away: there the number of pauses decides.
			if long < longPauses || !(share >= pausedTime || c.Grid.Step() >= oneBurst) {
				return rules.Finding{}, false
			}
			return pauseFinding(rule, c, inst, cells, long, share), true
		})
	}

	return rule
}

func pauseFinding(r rules.Rule, c *rules.Case, inst string, cells timeline.Mask, long,
	share float64) rules.Finding {
	f := r.Finding(rules.InstanceOf("etcd", inst))
	f.Severity = rules.Warning
	together := cells.Close(c.Cells(oneBurst))
	f.Windows, f.PeriodS = c.Windows(together), c.Period(together)

	if c.Stall.Any() {
		f.Weight = rules.Share(cells.Widen(1, 1), c.Stall.Cells)
		f.Severity = c.SeverityOf(f.Weight)
	}

	// Commits outside the pauses show the disk's performance when no compaction runs.
	commit := timeline.Quantile(timeline.At(c.For(BackendCommit, "instance", inst), together.Not()), 0.5)
	f.Say("pauses", rules.Values{"long": rules.Events(long),
		"every": rules.If(f.PeriodS > 0, rules.Seconds(f.PeriodS)),
		"share": rules.Part(min(share, 1))})

	switch {
	case commit > commitCriterionS:
		f.Say("disk", rules.Values{"commit": rules.Seconds(commit)})
	// The disk is fast otherwise, so no finding about it should come before this one.
	case commit > 0:
		f.Foremost = true
		f.Say("not disk", rules.Values{"commit": rules.Seconds(commit)})
	}

	f.Evidence = []rules.Evidence{
		c.Figure("pauses of over 128 ms", CompactionLongPauses, long, "", cells),
		c.Figure("share of that time a compaction held the backend", CompactionPauseTime, share,
			"ratio", cells),
	}

	f.Advise("often", nil)
	f.Advise("batches", nil)
	return f
}

func snapshotSent() rules.Rule {
	rule := rules.Rule{ID: "etcd/snapshot-sent", Title: "The leader sends a member its whole database",
		Kind:    rules.Cause,
		When:    "plimsoll:etcd_snapshots_sending:count > 0",
		Needs:   []*rules.Signal{SnapshotsSending},
		NoAlert: "a new member receives a snapshot by design",
		Cause:   "The leader sends a snapshot of the whole database to a member that is more than --snapshot-catchup-entries (5,000) behind. The leader reads it, the network carries it and the member writes it: with gigabytes all three are busy for minutes. If the member is still too far behind afterwards, the leader sends another one.",
		Words: rules.Words{
			"sent":  "Snapshots were in transit for {{.for}}{{with .times}} ({{.}}){{end}}{{with .size}}, {{.}} each{{end}}.",
			"again": "It recurs: the member does not catch up. Check its disk and its network.",
		},
		Advice: map[string]rules.Advice{
			"once": {Summary: "If a member was added or was down for long, wait: it receives one snapshot",
				Expect: "it catches up", TradeOff: "none", NoCommand: "there is nothing to change"},
			"again": {Summary: "If it recurs, find why that member falls behind (etcd/slow-member, the network), and raise --snapshot-catchup-entries (--experimental-... before 3.6)",
				Expect:    "it catches up from the log",
				TradeOff:  "the leader keeps more entries in memory",
				NoCommand: "the slow member has to be found first"},
		}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		return eachMember(held, func(_ timeline.Track, inst string, cells timeline.Mask) (rules.Finding, bool) {
			finding := rule.Finding(rules.InstanceOf("etcd", inst))
			finding.Severity, finding.Windows = rules.Info, input.Windows(cells)

			// Writes that piled up during the snapshot wait a little longer than it.
			if input.Stall.Any() {
				finding.Weight = rules.Share(cells.Widen(1, 1), input.Stall.Cells)
			}

			times := len(cells.Episodes())
			size := timeline.Max(timeline.At(input.For(DatabaseSize, "instance", inst), cells))
			finding.Say("sent", rules.Values{"for": rules.Seconds(input.Seconds(cells)),
				"times": rules.If(times > 1, rules.Things(times, "time")),
				"size":  rules.If(size > 0, rules.Bytes(size))})
			finding.Evidence = []rules.Evidence{input.Figure("time with a snapshot in transit", SnapshotsSending,
				input.Seconds(cells), "seconds", cells)}
			// One snapshot is how a new member joins; it is a problem only if clients felt it or it
			// recurs.
			if finding.Weight >= rules.MinAttributable || times > 1 {
				finding.Severity = rules.Warning
			}

			if times > 1 {
				finding.Say("again", nil)
				finding.Advise("again", nil)
			} else {
				finding.Advise("once", nil)
			}

			return finding, true
		})
	}

	return rule
}
