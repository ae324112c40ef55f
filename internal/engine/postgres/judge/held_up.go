package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// minWaitShare is the share of executing sessions above which a class of waits counts as a
	// cause.
	minWaitShare = 0.3
	// queuedDevice is the share of the stalled time with a full device queue above which the session
	// that blocks others may itself be waiting for that device.
	queuedDevice = 0.5
)

// sessionsWait builds a rule for stalls in which sessions wait for something other than this host's
// storage, such as locks or a standby.
func sessionsWait(rule rules.Rule, class waitClass, advice ...string) rules.Rule {
	rule.Kind, rule.Stalled, rule.Needs = rules.Cause, true, []*rules.Signal{WaitEvents}
	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		share, calm := waitedShare(input, class)
		if share-calm < minWaitShare {
			return nil
		}

		finding := rule.Finding("postgres")
		finding.Weight = share - calm
		finding.Severity = input.SeverityOf(finding.Weight)
		finding.Windows = input.Windows(input.Stall.Cells)
		finding.Say("waited", rules.Values{"share": rules.Part(share),
			"what": rules.Called(waitsIn(input, input.Stall.Cells).first(class)), "calm": rules.Part(calm)})
		finding.Evidence = []rules.Evidence{
			input.Figure("share of executing sessions blocked this way while stalled", Waiting, share, "ratio",
				input.Stall.Cells),
			input.Figure("share of executing sessions blocked this way otherwise", Waiting, calm, "ratio",
				input.NotStalled()),
		}

		queued, _ := input.QueuedShare(input.Stall.Cells)
		if queued >= queuedDevice {
			// The session that blocks the others may be waiting for the device: then the volume
			// matters.
			finding.Weight *= 1 - queued
			finding.Severity = rules.Warning
			finding.Say("queued", rules.Values{"queued": rules.Part(queued)})
		} else if finding.Severity != rules.Info {
			finding.Open("no volume", nil)
		}

		if class == onLock {
			lockEvidence(input, &finding)
		}

		for _, name := range advice {
			finding.Advise(name, nil)
		}

		return []rules.Finding{finding}
	}

	return rule
}

// waitedShare returns the share of executing sessions in a class of waits while stalled, and
// otherwise. Few sessions execute outside of stalls, so their share is scaled to the number that
// execute in a stall: a lone session that waits for a lock all day does not explain half of a queue
// of forty.
//
// Each kind of wait is compared with itself. If sessions usually queue for each other's rows, a stall in
// which they wait for a locked table has another cause than that.
func waitedShare(c *rules.Case, class waitClass) (share, calm float64) {
	calmCells := c.NotStalled().Without(edges(c))
	in, out := waitsIn(c, c.Stall.Cells), waitsIn(c, calmCells)
	if !in.known {
		return 0, 0
	}

	stalledSessions := in.of / math.Max(1, float64(c.Stall.Cells.Count())) // mean per cell
	calmSessions := out.of / math.Max(1, float64(calmCells.Count()))
	otherwise := out.byKind(class)
	for kind, x := range in.byKind(class) {
		share += x
		if stalledSessions > 0 {
			calm += math.Min(x, otherwise[kind]*calmSessions/stalledSessions)
		}
	}

	return share, calm
}

// edges marks the intervals next to stalled ones in whose samples clients are held back: the stall begins or
// ends in them, and sessions are counted at their ends.
func edges(c *rules.Case) timeline.Mask {
	sample := c.SampleCells(Active)
	out := c.Stall.Cells.Widen(sample, sample).Without(c.Stall.Cells)
	age := c.One(QueuedAge)
	for k := range out {
		out[k] = out[k] && known(age, k) >= rules.StallCeilingS
	}
	return out
}

// lockEvidence adds the usual suspect if a lock is not released: a session idle in a transaction.
func lockEvidence(c *rules.Case, f *rules.Finding) {
	idle, age := c.One(IdleInTransaction), c.One(IdleInTransactionAge)
	if idle == nil || age == nil {
		return
	}
	most, oldest := timeline.Max(timeline.At(idle, c.Stall.Cells)), timeline.Max(timeline.At(age, c.Stall.Cells))
	if !(most >= 1) || !(oldest >= rules.StallCeilingS) {
		return
	}
	f.Say("idle", rules.Values{"most": rules.Events(most), "oldest": rules.Seconds(oldest)})
	f.Evidence = append(f.Evidence,
		c.Figure("sessions idle in a transaction while stalled, maximum", IdleInTransaction, most, "",
			c.Stall.Cells),
		c.Figure("age of their oldest transaction while stalled", IdleInTransactionAge, oldest, "seconds",
			c.Stall.Cells))
}

// waitAlert is the alert condition: most of the active sessions, and at least four, wait this way.
func waitAlert(waiting *rules.Signal) string {
	return waiting.Name + " >= 4 and on() (" + waiting.Name + " > 0.5 * plimsoll:postgres_active:count)"
}

func lockWait() rules.Rule {
	return sessionsWait(rules.Rule{ID: "postgres/lock-wait", Title: "Sessions wait for locks",
		When:  waitAlert(LockWaiting),
		Cause: "Another session holds a lock that they need until its transaction ends: DDL such as ALTER TABLE, a row that many sessions update, or a session idle in a transaction. Sessions that request a lock behind a waiting ALTER TABLE wait too, even to read.",
		Words: rules.Words{
			"waited":    "While commits stalled, {{.share}} of the executing sessions waited for {{.what}} (otherwise {{.calm}}).",
			"idle":      "Sessions idle in a transaction meanwhile: up to {{.most}}, the oldest for {{.oldest}}. They keep their locks.",
			"queued":    "A device's queue was full {{.queued}} of that time: the session that holds the lock may be waiting for the device.",
			"no volume": "No volume fixes this: clients waited for locks.",
		},
		Advice: map[string]rules.Advice{
			"end": {Summary: "Find the session that holds the lock with pg_blocking_pids() and end it with pg_cancel_backend() or pg_terminate_backend()",
				Expect:   "the queue behind it drains within a second",
				TradeOff: "its transaction is rolled back",
				Do:       []*rules.Remedy{endBlocker}},
			"limit": {Summary: "Terminate sessions that stay idle in a transaction (idle_in_transaction_session_timeout), and run DDL with a lock_timeout of a few seconds and retries",
				Expect:   "an idle client holds no lock longer than that",
				TradeOff: "such a client loses its connection and its transaction", Do: []*rules.Remedy{endIdle}}},
	}, onLock, "end", "limit")
}

func standbyWait() rules.Rule {
	return sessionsWait(rules.Rule{ID: "postgres/standby-wait", Title: "Commits wait for a synchronous standby",
		When:  waitAlert(StandbyWaiting),
		Cause: "With synchronous_standby_names a commit returns only after a standby has received, written or applied it (synchronous_commit). The standby's disk, its CPU and the network are in the path of every commit; commits are not waiting for this host's disk.",
		Words: rules.Words{
			"waited":    "While commits stalled, {{.share}} of the executing sessions waited for {{.what}}, the acknowledgement of a synchronous standby (otherwise {{.calm}}).",
			"queued":    "A device's queue was also full {{.queued}} of that time on this host.",
			"no volume": "No volume of this host fixes this: commits waited for a synchronous standby.",
		},
		Advice: map[string]rules.Advice{
			"standby": {Summary: "Diagnose the standby: record it and its host at the same time; its WAL fsync and the network round trip are part of each commit",
				Expect:    "the cause shows up on the standby or in the network",
				TradeOff:  "none",
				NoCommand: "pg_stat_replication shows which standby: sync_state, flush_lag, replay_lag"},
			"quorum": {Summary: "With two or more standbys, wait for any one of them: synchronous_standby_names = 'ANY 1 (...)'",
				Expect:    "one slow standby no longer delays commits",
				TradeOff:  "one more server; only the LSN shows which standby has a commit",
				NoCommand: "the names are the standbys' application_name; the value replaces the current list"}},
	}, onStandby, "standby", "quorum")
}

func clientWait() rules.Rule {
	return sessionsWait(rules.Rule{ID: "postgres/client-wait", Title: "Clients read their results too slowly",
		When:  waitAlert(ClientWaiting),
		Cause: "The server has results ready but cannot send them: the client reads slowly, or the network in between is saturated or drops packets. Sessions that wait this way keep their locks and their snapshot.",
		Words: rules.Words{
			"waited":    "While commits stalled, {{.share}} of the executing sessions waited for {{.what}}: their clients did not read what the server sent (otherwise {{.calm}}).",
			"queued":    "A device's queue was also full {{.queued}} of that time.",
			"no volume": "No volume fixes this: clients did not read their results.",
		},
		Advice: map[string]rules.Advice{
			"client": {Summary: "Check the clients' hosts and the network: CPU, retransmissions (ss -ti), the instance's network limit; fetch fewer rows, or use a cursor",
				Expect:    "results leave the server as they are produced",
				TradeOff:  "none",
				NoCommand: "it is a change to the application or the network"}},
	}, onClient, "client")
}
