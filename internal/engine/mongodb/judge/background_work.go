package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Signals of mongod's own work that reads pages and fills the cache.
var (
	TTLDeletes = signal("mongodb_ttl_deletes:rate", "1/s", "documents that TTL indexes deleted per second",
		`irate(mongodb_ss_metrics_ttl_deletedDocuments[$w])`)
	// IndexBuilds counts builds that have started and are not committed. An aborted build counts
	// until it has failed.
	IndexBuilds = signal("mongodb_index_builds:count", "", "index builds in progress (7.0 and later)",
		`clamp_min(mongodb_ss_indexBuilds_total - mongodb_ss_indexBuilds_phases_commit, 0)`)
	Migrated = signal("mongodb_migrated:rate",
		"1/s", "documents per second that chunk migrations copied or cleaned up",
		`sum(irate({__name__=~"mongodb_ss_shardingStatistics_(countDocsClonedOnDonor|countDocsClonedOnRecipient|countDocsDeletedByRangeDeleter|countDocsDeletedOnDonor)"}[$w]))`)
	OwnState = signal("mongodb_own_state:state", "", "this member's state by its number (5: initial sync)",
		`mongodb_rs_myState`,
		`max(mongodb_rs_members_state and on(member_idx) (mongodb_rs_members_self == 1))`)
)

// backgroundWork lists the kinds of work and the level from which each counts.
var backgroundWork = []struct {
	name   string
	signal *rules.Signal
	from   float64
	unit   string
	advice string
}{
	{"TTL indexes deleted documents", TTLDeletes, 100, "1/s", "ttl"},
	{"an index build ran", IndexBuilds, 1, "", "index"},
	{"a chunk migration copied or cleaned up documents", Migrated, 100, "1/s", "balancer"},
	{"this member did an initial sync", OwnState, 5, "", "sync"},
}

func backgroundRule() rules.Rule {
	rule := rules.Rule{ID: "mongodb/background-work", Title: "mongod's own work takes the cache and the disk",
		Kind:    rules.Cause,
		When:    "plimsoll:mongodb_ttl_deletes:rate > 100 or plimsoll:mongodb_index_builds:count >= 1 or plimsoll:mongodb_migrated:rate > 100",
		Needs:   []*rules.Signal{},
		AnyOf:   []*rules.Signal{TTLDeletes, IndexBuilds, Migrated, OwnState},
		NoAlert: "its condition is that such work runs, which is not a fault",
		Cause:   "TTL deletes, index builds, chunk migrations and initial syncs read and change documents as clients do, although no client asked for it. Their pages push others out of the cache, and their reads and writes fill the volume's queue.",
		Words: rules.Words{
			"ran": "{{.share}} of the stalled time fell into periods in which {{.what}}: {{.in}} of those periods stalled, and {{.out}} of the rest.",
		},
		Advice: map[string]rules.Advice{
			"ttl": {Summary: "Spread the deletes: expire at different times, drop whole collections or partitions by time, or set ttlMonitorSleepSecs lower so that each pass deletes less",
				Expect:    "each pass is short",
				TradeOff:  "expired documents may be kept a little longer",
				NoCommand: "how documents expire is up to the application"},
			"index": {Summary: "Build indexes at quiet times or member by member (rolling), with a lower maxIndexBuildMemoryUsageMegabytes if it spills",
				Expect:    "no build runs during peak load",
				TradeOff:  "a rolling build requires the primary to step down",
				NoCommand: "when to build it is your decision"},
			"balancer": {Summary: "Give the balancer a window at quiet times (sh.setBalancerState, activeWindow), and a rangeDeleterBatchDelayMS",
				Expect:    "chunks move while no client is waiting",
				TradeOff:  "shards stay uneven for longer",
				NoCommand: "only you know when it is quiet"},
			"sync": {Summary: "Read from other members until the sync is done; seed new members from a snapshot",
				Expect:    "no client waits for a member that copies everything",
				TradeOff:  "a snapshot has to be taken and kept",
				NoCommand: "which member clients read from is set in their drivers"},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, work := range backgroundWork {
			cells := timeline.Where(input.One(work.signal),
				// The state is an enumeration, not a level: only the exact number means initial
				// sync.
				func(x float64) bool { return x >= work.from && (work.signal != OwnState || x == work.from) })
			if len(cells) == 0 || !input.Stall.Any() {
				continue
			}

			// The queue it leaves behind outlasts the work itself.
			near := cells.Widen(0, input.Cells(rules.AftermathS*1e9))
			fraction, pIn, pOut := input.Attributable(near)
			if fraction < rules.MinAttributable || pIn < rules.StallRatio*pOut || !input.Contrasts(near) {
				continue
			}

			f := rule.Finding(work.name)
			f.Weight = fraction
			// This finding shows only that the work and the stalls coincide; other findings show how the
			// work makes clients wait.
			f.Severity = rules.LessThanCritical(input.SeverityOf(fraction))

			f.Windows = input.Windows(near.And(input.Stall.Cells))
			f.PeriodS = input.Period(cells.Close(input.Cells(5e9)))
			f.Say("ran", rules.Values{"share": rules.Part(rules.Share(near, input.Stall.Cells)),
				"what": rules.Called(work.name), "in": rules.Part(pIn), "out": rules.Part(pOut)})
			f.Evidence = []rules.Evidence{
				input.Figure("share of the time that stalled while it ran", work.signal, pIn, "ratio", near),
				input.Figure("share of the time that stalled while it did not", work.signal, pOut, "ratio", near.Not()),
				input.Figure("most while stalled", work.signal,
					timeline.Max(timeline.At(input.One(work.signal), input.Stall.Cells.Widen(1, 1))), work.unit,
					input.Stall.Cells),
			}

			f.Advise(work.advice, nil)
			out = append(out, f)
		}

		return out
	}

	return rule
}
