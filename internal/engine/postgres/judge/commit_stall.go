package judge

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func commitStall() rules.Rule {
	r := rules.SymptomRule("postgres/commit-stall", "Commits stall",
		"plimsoll:postgres_oldest_transaction:seconds >= 0.1 and on() (plimsoll:postgres_commits:rate < 1)",
		"PostgreSQL's exporter reports no latency. Plimsoll computes it as executing sessions divided by commits per second. If that is not possible, a stall is completions below 30 % of the usual rate while a transaction has been executing for 100 ms or more. Neither includes the time a request waits for a connection in a pool or a client: users wait longer than these figures say.")
	r.Words = maps.Clone(r.Words)
	maps.Copy(r.Words, rules.Words{
		"used up": "For {{.for}} of it all {{.sessions}} sessions were executing: clients also waited for a free session, so they waited longer than these figures say.",
		"untyped": "The exporter does not report backend_type (postgres_exporter 0.17.0 does): autovacuum and parallel workers may be among the few sessions counted.",
		"waiting": "Meanwhile {{.share}} of the executing sessions waited for {{.what}}.",
	})

	judge := r.Judge
	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		out := judge(c, held)
		for i := range out {
			for _, s := range c.Symptoms {
				if s.Rule != r.ID {
					continue
				}
				used := usedUpInStall(c, s.Cells, &out[i])
				waits := waits(c, s.Cells, &out[i])
				if unsureCount(c, s) {
					out[i].Say("untyped", nil)
				}
				out[i].Evidence = slices.Concat(used, waits, walSyncs(c, s.Cells), out[i].Evidence)
			}
		}

		return out
	}

	return r
}

const (
	// usedUpShare is the share of executing sessions above which all count as executing: one or two
	// may be between two statements.
	usedUpShare = 0.9
	// usedUpSessions is the number of sessions up to which nothing can be said about a pool.
	usedUpSessions = 8
	// poolShare is the share of samples in which the session count must equal its maximum for that
	// maximum to be a pool's size.
	poolShare = 0.5
)

// SessionsUsedUp returns the cells in which all client sessions execute. It is nil if no source
// reports an idle session and the count is not constant either.
func SessionsUsedUp(sig *rules.Signals) timeline.Mask {
	active, all := sig.One(Active), sig.One(Sessions)
	if active == nil || all == nil {
		return nil
	}

	if everIdle(sig) {
		out := make(timeline.Mask, sig.Grid.N)
		for k := range out {
			// The session that counts is itself executing.
			out[k] = all[k] > usedUpSessions && active[k]-1 >= usedUpShare*(all[k]-1)
		}
		return out
	}

	// Random arrivals make a count vary. A count at its maximum in most samples is a pool's size.
	most := timeline.Max(active)
	top := timeline.Where(active, func(x float64) bool { return x >= most })
	if !(most > usedUpSessions) || rules.Share(top, timeline.Known(active)) < poolShare {
		return nil
	}

	return timeline.Where(active, func(x float64) bool { return x-1 >= usedUpShare*(most-1) })
}

// everIdle reports whether any session is idle at any time.
func everIdle(sig *rules.Signals) bool {
	active, all := sig.One(Active), sig.One(Sessions)
	for k := range all {
		if k < len(active) && active[k] < all[k] {
			return true
		}
	}
	return false
}

// usedUpInStall returns the evidence that all sessions were in use in many of the given cells.
func usedUpInStall(c *rules.Case, cells timeline.Mask, f *rules.Finding) []rules.Evidence {
	used := SessionsUsedUp(&c.Signals)
	share := rules.Share(used, cells)
	if used == nil || share < rules.MinAttributable {
		return nil
	}
	all := timeline.Max(timeline.At(c.One(Sessions), used.And(cells))) - 1
	f.Say("used up", rules.Values{"for": rules.Seconds(c.Seconds(used.And(cells))),
		"sessions": rules.Called(fmt.Sprintf("%.0f", all))})
	return []rules.Evidence{c.Figure("share of the stalled time with every session executing", Sessions,
		share, "ratio", cells)}
}

// fewSessions is the number of executing sessions that may all be background workers: by default
// three autovacuum workers and eight parallel ones.
const fewSessions = 11

// unsureCount reports whether the sessions counted in a stall may be background workers.
func unsureCount(c *rules.Case, s rules.Stall) bool {
	return !c.Measured(SessionTypes) && c.Measured(Active) &&
		timeline.Quantile(timeline.At(s.Waiting, s.Cells), 0.5) <= fewSessions
}

const (
	// maxReportedWaits bounds how many kinds of waits are evidence; a kind needs minReportedWait of
	// the sessions.
	maxReportedWaits = 3
	minReportedWait  = 0.05
	majority         = 0.5 // from which the summary names the wait
)

// waits returns what the executing sessions waited for in the given cells; the finding names the
// wait of the majority. Without wait events every session appears to wait for nothing, which is not
// evidence.
func waits(c *rules.Case, cells timeline.Mask, f *rules.Finding) (out []rules.Evidence) {
	all := waitsIn(c, cells)
	if !all.known {
		return nil
	}
	if first := all.kinds[0]; first.share >= majority {
		f.Say("waiting", rules.Values{"share": rules.Part(first.share), "what": rules.Called(first.name)})
	}
	for _, w := range all.kinds[:min(len(all.kinds), maxReportedWaits)] {
		if w.share >= minReportedWait {
			out = append(out, c.Figure(fmt.Sprintf("share of executing sessions that waited for %s while stalled",
				w.name), Waiting, w.share, "ratio", cells))
		}
	}
	return out
}

// walSyncs returns how long a WAL fsync took in the given cells: from pg_stat_wal in 14 to 17, from
// pg_stat_io in 18 and later, both only with track_wal_io_timing.
func walSyncs(c *rules.Case, cells timeline.Mask) []rules.Evidence {
	mean := meanSync(c, cells)
	if !(mean > 0) {
		return nil
	}
	return []rules.Evidence{c.Figure("mean duration of a WAL fsync while stalled", WALSyncTime, mean,
		"seconds", cells)}
}

// meanSync returns the mean duration of the WAL fsyncs that ended in the given cells or, if none
// did, in the cell after them. It is NaN if none ended or the server does not time them (it then
// reports a time of 0).
func meanSync(c *rules.Case, cells timeline.Mask) float64 {
	spent, syncs := c.One(WALSyncTime), c.One(WALSyncs)
	if spent == nil || syncs == nil || !(timeline.Sum(spent) > 0) {
		return math.NaN()
	}
	if !(timeline.Sum(timeline.At(syncs, cells)) > 0) {
		cells = cells.Widen(0, 1)
	}
	n := timeline.Sum(timeline.At(syncs, cells))
	if !(n > 0) {
		return math.NaN()
	}
	return timeline.Sum(timeline.At(spent, cells)) / n
}
