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
		"PostgreSQL's exporter reports no latency. It is computed as sessions executing over commits a second; where that cannot be, completions fall under 30 % of the usual while a transaction executes for 100 ms or more. What waits in a pool or a client for a connection is in neither: users wait longer than these figures say.")
	r.Words = maps.Clone(r.Words)
	maps.Copy(r.Words, rules.Words{
		"used up": "In {{.for}} of it all of {{.sessions}} sessions were executing: clients waited for one of them as well, longer than these figures say.",
		"untyped": "The exporter does not report backend_type (postgres_exporter 0.17.0 does): autovacuum and parallel workers may be among the few sessions counted.",
		"waiting": "Meanwhile {{.share}} of the sessions executing waited for {{.what}}.",
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
	// usedUpShare is the part of the sessions from which all of them execute: one or two may be
	// between two statements.
	usedUpShare = 0.9
	// usedUpSessions is how few sessions tell nothing of a pool.
	usedUpSessions = 8
	// poolShare is the share of the looks in which a pool's size is the number of sessions.
	poolShare = 0.5
)

// SessionsUsedUp is where clients' sessions all execute; nil if no source tells of any that does
// not, and they do not stand at one number either.
func SessionsUsedUp(sig *rules.Signals) timeline.Mask {
	active, all := sig.One(Active), sig.One(Sessions)
	if active == nil || all == nil {
		return nil
	}

	out, idle := make(timeline.Mask, sig.Grid.N), false
	for k := range out {
		// Whoever asks is a session that executes.
		out[k] = all[k] > usedUpSessions && active[k]-1 >= usedUpShare*(all[k]-1)
		idle = idle || active[k] < all[k]
	}

	if idle {
		return out
	}

	// Arrivals make a count vary. One that stands at its highest in most looks is a pool's size.
	most := timeline.Max(active)
	top := timeline.Where(active, func(x float64) bool { return x >= most })
	if !(most > usedUpSessions) || rules.Share(top, timeline.Known(active)) < poolShare {
		return nil
	}

	return timeline.Where(active, func(x float64) bool { return x-1 >= usedUpShare*(most-1) })
}

// usedUpInStall is the evidence that sessions were used up in a good part of some cells.
func usedUpInStall(c *rules.Case, cells timeline.Mask, f *rules.Finding) []rules.Evidence {
	used := SessionsUsedUp(&c.Signals)
	share := rules.Share(used, cells)
	if used == nil || share < rules.MinAttributable {
		return nil
	}
	all := timeline.Max(timeline.At(c.One(Sessions), used.And(cells))) - 1
	f.Say("used up", rules.Values{"for": rules.Seconds(c.Seconds(used.And(cells))),
		"sessions": rules.Called(fmt.Sprintf("%.0f", all))})
	return []rules.Evidence{c.Figure("share of the stalled time in which every session was executing", Sessions,
		share, "ratio", cells)}
}

// fewSessions is up to how many executing sessions may be background workers: three of autovacuum
// and eight parallel ones, by default.
const fewSessions = 11

// unsureCount reports whether what was counted in a stall may be background workers.
func unsureCount(c *rules.Case, s rules.Stall) bool {
	return !c.Measured(SessionTypes) && c.Measured(Active) &&
		timeline.Quantile(timeline.At(s.Waiting, s.Cells), 0.5) <= fewSessions
}

const (
	// waitsTold is how many kinds of waits are told; toldWaitShare is the part of the sessions from
	// which one is.
	waitsTold     = 3
	toldWaitShare = 0.05
	mostOfThem    = 0.5 // from which the summary names it
)

// waits is what the sessions that executed in some cells waited for; the finding says what most
// did. A source that does not report wait events has sessions that wait for nothing, which says
// nothing.
func waits(c *rules.Case, cells timeline.Mask, f *rules.Finding) (out []rules.Evidence) {
	all := waitsIn(c, cells)
	if !all.known {
		return nil
	}
	if first := all.kinds[0]; first.share >= mostOfThem {
		f.Say("waiting", rules.Values{"share": rules.Part(first.share), "what": rules.Called(first.name)})
	}
	for _, w := range all.kinds[:min(len(all.kinds), waitsTold)] {
		if w.share >= toldWaitShare {
			out = append(out, c.Figure(fmt.Sprintf("of the sessions executing while stalled, those that waited for %s",
				w.name), Waiting, w.share, "ratio", cells))
		}
	}
	return out
}

// walSyncs is how long a WAL fsync took in some cells: pg_stat_wal from 14 to 17, pg_stat_io from 18
// on, both with track_wal_io_timing.
func walSyncs(c *rules.Case, cells timeline.Mask) []rules.Evidence {
	mean := meanSync(c, cells)
	if !(mean > 0) {
		return nil
	}
	return []rules.Evidence{c.Figure("mean duration of a WAL fsync while stalled", WALSyncTime, mean,
		"seconds", cells)}
}

// meanSync is the mean duration of the WAL fsyncs of some cells. If none ended there, it is of those
// that ended in the cell after; NaN if none did or the server does not time them, which it reports as
// a time of 0.
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
