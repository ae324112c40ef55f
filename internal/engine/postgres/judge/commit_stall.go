package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func commitStall() rules.Rule {
	r := rules.SymptomRule("postgres/commit-stall", "Commits stall",
		"plimsoll:postgres_oldest_transaction:seconds >= 0.1 and on() (plimsoll:postgres_commits:rate < 1)",
		"PostgreSQL's exporter reports no latency. It is computed as sessions executing over commits a second, and in a burst that is over before sessions are looked at as the time of two writes to the WAL's device; where that cannot be, completions fall under 30 % of the usual while a transaction executes for 100 ms or more. What waits in a pool or a client for a connection is in neither: users wait longer than these figures say.")
	r.Words = maps.Clone(r.Words)
	maps.Copy(r.Words, rules.Words{
		"used up":  "In {{.for}} of it all of {{.sessions}} sessions were executing: clients waited for one of them as well, longer than these figures say.",
		"inferred": "They were inferred from the queue of the WAL's device; by the sessions that were counted meanwhile a commit took {{.took}}, so clients hardly felt them.",
		"waiting":  "Meanwhile {{.share}} of the sessions executing waited for {{.what}}.",
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
				if took, _ := s.Counted(); c.HardlyFelt(s) {
					out[i].Say("inferred", rules.Values{"took": rules.Seconds(took)})
				}
				out[i].Evidence = slices.Concat(used, waits, commits(c, s.Cells), out[i].Evidence)
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
	f.Say("used up", rules.Values{"for": rules.Seconds(c.Seconds(used.And(cells))), "sessions": rules.Called(fmt.Sprintf("%.0f", all))})
	return []rules.Evidence{c.Figure("share of the stalled time in which every session was executing", Sessions, share, "ratio", cells)}
}

const (
	// waitsTold is how many kinds of waits are told; toldWaitShare is the part of the sessions from
	// which one is.
	waitsTold     = 3
	toldWaitShare = 0.05
	mostOfThem    = 0.5 // from which the summary names it
)

// waits is what the sessions that executed in some cells waited for; the finding says what most
// did. Sources that do not report wait events have sessions that wait for nothing, which says
// nothing.
func waits(c *rules.Case, cells timeline.Mask, f *rules.Finding) (out []rules.Evidence) {
	type wait struct {
		name  string
		share float64
	}
	var waits []wait
	total, told := 0.0, false
	for _, t := range c.Signal(Waiting) {
		kind, event := t.Labels.Get("wait_event_type"), t.Labels.Get("wait_event")
		if kind == "Client" {
			// PostgreSQL looks at a session's state first and then at what it waits for: this one
			// is done, and waits for its client.
			continue
		}
		x := timeline.Sum(timeline.At(t.Values, cells))
		total += x
		name := "a CPU, or nothing that PostgreSQL reports"
		if kind != "" {
			told = true
			name = kind + " " + event
		}
		waits = append(waits, wait{name, x})
	}
	if !told || total == 0 {
		return nil
	}
	slices.SortStableFunc(waits, func(a, b wait) int { return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.name, b.name)) })
	if first := waits[0]; first.share/total >= mostOfThem {
		f.Say("waiting", rules.Values{"share": rules.Part(first.share / total), "what": rules.Called(first.name)})
	}
	for _, w := range waits[:min(len(waits), waitsTold)] {
		if w.share/total >= toldWaitShare {
			out = append(out, c.Figure(fmt.Sprintf("of the sessions executing while stalled, those that waited for %s", w.name), Waiting, w.share/total, "ratio", cells))
		}
	}
	return out
}

// commits tells how long a COMMIT took, where pg_stat_statements counts them: in some cells and,
// since they are credited when they end, in the one after.
func commits(c *rules.Case, cells timeline.Mask) []rules.Evidence {
	at := cells.Widen(0, 1)
	mean := timeline.Sum(timeline.At(c.One(CommitStatementTime), at)) / timeline.Sum(timeline.At(c.One(CommitStatements), at))
	if !(mean >= 0) {
		return nil
	}
	return []rules.Evidence{c.Figure("mean duration of a COMMIT while stalled", CommitStatementTime, mean, "seconds", cells)}
}
