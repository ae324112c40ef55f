package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// leastWaitShare is the share of the executing sessions from which one class of waits is a cause.
	leastWaitShare = 0.3
	// queuedDevice is the share of the stalled time with a device's queue full from which the session
	// that others wait for may itself wait for that device.
	queuedDevice = 0.5
)

// sessionsWait makes the rule that clients wait for one class of waits that is not this host's
// storage.
func sessionsWait(r rules.Rule, class waitClass, advice ...string) rules.Rule {
	r.Kind, r.Needs = rules.Cause, []*rules.Signal{WaitEvents}
	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		if !c.Stall.IsDatabase || !c.Stall.Any() {
			return nil
		}

		share, calm := waitedShare(c, class)
		if share-calm < leastWaitShare {
			return nil
		}

		f := r.Finding("postgres")
		f.Weight = share - calm
		f.Severity = c.SeverityOf(f.Weight)
		f.Windows = c.Windows(c.Stall.Cells)
		f.Say("waited", rules.Values{"share": rules.Part(share),
			"what": rules.Called(waitsIn(c, c.Stall.Cells).first(class)), "calm": rules.Part(calm)})
		f.Evidence = []rules.Evidence{
			c.Figure("of the sessions executing while stalled, those held up so", Waiting, share, "ratio",
				c.Stall.Cells),
			c.Figure("of the sessions executing otherwise", Waiting, calm, "ratio", c.NotStalled()),
		}

		queued, _ := c.QueuedShare(c.Stall.Cells)
		if queued >= queuedDevice {
			// The session that others wait for may wait for the device: then the volume does matter.
			f.Weight *= 1 - queued
			f.Severity = rules.Warning
			f.Say("queued", rules.Values{"queued": rules.Part(queued)})
		} else if f.Severity != rules.Info {
			f.Open("no volume", nil)
		}

		if class == onLock {
			lockEvidence(c, &f)
		}

		for _, name := range advice {
			f.Advise(name, nil)
		}

		return []rules.Finding{f}
	}

	return r
}

// waitedShare is the share of the executing sessions in a class of waits while stalled, and
// otherwise. Sessions that execute otherwise are few, so their share is taken of as many as stall: a
// lone session that waits for a lock all day is no half of a queue of forty.
func waitedShare(c *rules.Case, class waitClass) (share, calm float64) {
	in, out := waitsIn(c, c.Stall.Cells), waitsIn(c, c.NotStalled())
	if !in.known {
		return 0, 0
	}
	share = in.share(class)
	each := in.of / math.Max(1, float64(c.Stall.Cells.Count()))
	otherwise := out.share(class) * out.of / math.Max(1, float64(c.NotStalled().Count()))
	if each > 0 {
		calm = math.Min(share, otherwise/each)
	}
	return share, calm
}

// lockEvidence adds the usual holder of a lock that nothing releases: a session idle in a transaction.
func lockEvidence(c *rules.Case, f *rules.Finding) {
	idle, age := c.One(IdleInTransaction), c.One(IdleInTransactionAge)
	if idle == nil || age == nil {
		return
	}
	most, oldest := timeline.Max(timeline.At(idle, c.Stall.Cells)), timeline.Max(timeline.At(age, c.Stall.Cells))
	if !(most >= 1) || !(oldest >= rules.StallCeilingS) {
		return
	}
	f.Say("idle", rules.Values{"most": whole(most), "oldest": rules.Seconds(oldest)})
	f.Evidence = append(f.Evidence,
		c.Figure("sessions idle in a transaction while stalled, most", IdleInTransaction, most, "", c.Stall.Cells),
		c.Figure("age of the oldest of their transactions while stalled", IdleInTransactionAge, oldest, "seconds",
			c.Stall.Cells))
}

// waitAlert is the condition that most sessions, and at least four, wait so.
func waitAlert(waiting *rules.Signal) string {
	return waiting.Name + " >= 4 and on() (" + waiting.Name + " > 0.5 * plimsoll:postgres_active:count)"
}

func lockWait() rules.Rule {
	return sessionsWait(rules.Rule{ID: "postgres/lock-wait", Title: "Sessions wait for locks",
		When:  waitAlert(LockWaiting),
		Cause: "Another session holds a lock that they need, until its transaction ends: DDL such as ALTER TABLE, a row that many update, or a session that is idle in a transaction. Who asks for a lock behind a waiting ALTER TABLE waits too, even to read.",
		Words: rules.Words{
			"waited":    "{{.share}} of the sessions executing while commits stalled waited for {{.what}} (otherwise {{.calm}}).",
			"idle":      "Up to {{.most}} sessions were idle in a transaction meanwhile, the oldest for {{.oldest}}: they keep their locks.",
			"queued":    "A device's queue was full in {{.queued}} of that time: the session that holds the lock may wait for the device.",
			"no volume": "No volume fixes this: clients waited for locks.",
		},
		Advice: map[string]rules.Advice{
			"end": {Summary: "Find the session that holds the lock with pg_blocking_pids() and end it with pg_cancel_backend() or pg_terminate_backend()",
				Expect:   "the queue behind it ends within a second",
				TradeOff: "its transaction is rolled back",
				Do:       []*rules.Remedy{endBlocker}},
			"limit": {Summary: "End sessions that stay idle in a transaction (idle_in_transaction_session_timeout), and run DDL with a lock_timeout of a few seconds and retries",
				Expect:   "no lock is kept longer than that by a client that does nothing",
				TradeOff: "such a client loses its connection, and its transaction", Do: []*rules.Remedy{endIdle}}},
	}, onLock, "end", "limit")
}

func standbyWait() rules.Rule {
	return sessionsWait(rules.Rule{ID: "postgres/standby-wait", Title: "Commits wait for a synchronous standby",
		When:  waitAlert(StandbyWaiting),
		Cause: "With synchronous_standby_names a commit returns once a standby has received, written or applied it (synchronous_commit). The standby's disk, its CPU and the network are in the path of every commit; this host's disk is not what is waited for.",
		Words: rules.Words{
			"waited":    "{{.share}} of the sessions executing while commits stalled waited for {{.what}}, the answer of a synchronous standby (otherwise {{.calm}}).",
			"queued":    "A device's queue was full in {{.queued}} of that time on this host too.",
			"no volume": "No volume of this host fixes this: commits waited for a synchronous standby.",
		},
		Advice: map[string]rules.Advice{
			"standby": {Summary: "Diagnose the standby: record it and its host at the same time; its WAL's fsync and the network's round trip make each commit",
				Expect:    "the cause is found where it is",
				TradeOff:  "none",
				NoCommand: "pg_stat_replication shows which standby: sync_state, flush_lag, replay_lag"},
			"quorum": {Summary: "With two standbys or more, wait for any one of them: synchronous_standby_names = 'ANY 1 (...)'",
				Expect:    "one slow standby no longer holds up commits",
				TradeOff:  "one more server; which standby has a commit is known only by its LSN",
				NoCommand: "the names are those of the standbys' application_name; the value replaces the list that is set now"}},
	}, onStandby, "standby", "quorum")
}

func clientWait() rules.Rule {
	return sessionsWait(rules.Rule{ID: "postgres/client-wait", Title: "Clients do not take their results",
		When:  waitAlert(ClientWaiting),
		Cause: "The server has results ready and cannot send them: the client reads slowly, or the network in between is full or drops packets. Sessions that wait so hold their locks and their snapshot.",
		Words: rules.Words{
			"waited":    "{{.share}} of the sessions executing while commits stalled waited for {{.what}}: their clients did not take what the server sent (otherwise {{.calm}}).",
			"queued":    "A device's queue was full in {{.queued}} of that time too.",
			"no volume": "No volume fixes this: clients did not take their results.",
		},
		Advice: map[string]rules.Advice{
			"client": {Summary: "Look at the clients' hosts and the network: CPU, retransmissions (ss -ti), the instance's network limit; fetch fewer rows, or with a cursor",
				Expect:    "results leave the server as they are made",
				TradeOff:  "none",
				NoCommand: "it is a change of the application or of the network"}},
	}, onClient, "client")
}
