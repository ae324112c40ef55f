package rules

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/record/timeline"
)

func postgresCommitStall() Rule {
	r := symptom("postgres/commit-stall", "Commits stall", EnginePostgres,
		"plimsoll:postgres_oldest_transaction:seconds >= 0.1 and on() (plimsoll:postgres_commits:rate < 1)",
		"PostgreSQL's exporter tells no latency. It is computed as sessions executing over commits a second; where that cannot be, completions fall under 30 % of the usual while a transaction executes for 100 ms or more. What waits in a pool or a client for a connection is in neither: users wait longer than these figures say.")
	judge := r.Judge
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		out := judge(c, held)
		for i := range out {
			for _, s := range c.Symptoms {
				if s.Rule != r.ID {
					continue
				}
				waits, most := c.postgresWaits(s.Cells)
				used, how := c.usedUpInStall(s.Cells)
				out[i].Summary += how + most
				out[i].Evidence = slices.Concat(used, waits, c.postgresCommits(s.Cells), out[i].Evidence)
			}
		}
		return out
	}
	return r
}

const (
	// usedUpShare is the part of the sessions from which all of them execute: one or two may be between two statements.
	usedUpShare = 0.9
	// usedUpSessions is how few sessions tell nothing of a pool.
	usedUpSessions = 8
)

// SessionsUsedUp is where clients' sessions all execute; nil if no source tells of any that does not.
func (c *Case) SessionsUsedUp() timeline.Mask {
	active, all := c.One(SignalPrefix+"postgres_active:count"), c.One(SignalPrefix+"postgres_sessions:count")
	if active == nil || all == nil {
		return nil
	}
	out, idle := make(timeline.Mask, c.Grid.N), false
	for k := range out {
		// Whoever asks is a session that executes.
		out[k] = all[k] > usedUpSessions && active[k]-1 >= usedUpShare*(all[k]-1)
		idle = idle || active[k] < all[k]
	}
	if !idle {
		return nil
	}
	return out
}

// usedUpInStall tells that sessions were used up in a good part of some cells.
func (c *Case) usedUpInStall(cells timeline.Mask) ([]Evidence, string) {
	used := c.SessionsUsedUp()
	share := Share(used, cells)
	if used == nil || share < minAttributable {
		return nil, ""
	}
	all := timeline.Max(timeline.At(c.One(SignalPrefix+"postgres_sessions:count"), used.And(cells))) - 1
	return []Evidence{c.figure("share of the stalled time in which every session was executing", SignalPrefix+"postgres_sessions:count", share, "ratio", cells)},
		fmt.Sprintf(" In %s of it all of %.0f sessions were executing: clients waited for one of them as well, longer than these figures say.", dur(c.Seconds(used.And(cells))), all)
}

const (
	// waitsTold is how many kinds of waits are told; toldWaitShare is the part of the sessions from which one is.
	waitsTold     = 3
	toldWaitShare = 0.05
	mostOfThem    = 0.5 // from which the summary names it
)

// postgresWaits tells what the sessions that executed in some cells waited for, and in a sentence what most did. Sources that do not tell
// wait events have sessions that wait for nothing, which says nothing.
func (c *Case) postgresWaits(cells timeline.Mask) (out []Evidence, most string) {
	type wait struct {
		name  string
		share float64
	}
	var waits []wait
	total, told := 0.0, false
	for _, t := range c.Signal(SignalPrefix + "postgres_waiting:count") {
		kind, event := t.Labels.Get("wait_event_type"), t.Labels.Get("wait_event")
		if kind == "Client" {
			// PostgreSQL looks at a session's state first and then at what it waits for: this one is done, and waits for its client.
			continue
		}
		x := timeline.Sum(timeline.At(t.Values, cells))
		total += x
		name := "a CPU, or nothing that PostgreSQL tells"
		if kind != "" {
			told = true
			name = kind + " " + event
		}
		waits = append(waits, wait{name, x})
	}
	if !told || total == 0 {
		return nil, ""
	}
	slices.SortStableFunc(waits, func(a, b wait) int { return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.name, b.name)) })
	if first := waits[0]; first.share/total >= mostOfThem {
		most = fmt.Sprintf(" Meanwhile %s of the sessions executing waited for %s.", pct(first.share/total), first.name)
	}
	for _, w := range waits[:min(len(waits), waitsTold)] {
		if w.share/total >= toldWaitShare {
			out = append(out, c.figure(fmt.Sprintf("of the sessions executing while stalled, those that waited for %s", w.name), SignalPrefix+"postgres_waiting:count", w.share/total, "ratio", cells))
		}
	}
	return out, most
}

// postgresCommits tells how long a COMMIT took, where pg_stat_statements counts them: in some cells and, since they are credited when they
// end, in the one after.
func (c *Case) postgresCommits(cells timeline.Mask) []Evidence {
	at := cells.Widen(0, 1)
	mean := timeline.Sum(timeline.At(c.One(SignalPrefix+"postgres_commit_statement_time:ratio"), at)) / timeline.Sum(timeline.At(c.One(SignalPrefix+"postgres_commit_statements:rate"), at))
	if !(mean >= 0) {
		return nil
	}
	return []Evidence{c.figure("mean duration of a COMMIT while stalled", SignalPrefix+"postgres_commit_statement_time:ratio", mean, "seconds", cells)}
}
