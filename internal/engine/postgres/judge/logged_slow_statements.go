package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// postgresLogs says which calls PostgreSQL logs.
const postgresLogs = "PostgreSQL logs a statement only if log_min_duration_statement is set (off by default) and it takes longer, a wait for a lock only with log_lock_waits, and a checkpoint only with log_checkpoints (on by default from 15 on). Whether they are set is not in the log."

func nothingLogged() rules.Rule {
	rule := rules.NothingLogged("postgres/nothing-slow-logged", "PostgreSQL", postgresLogs, LoggedLines, loggedCommits,
		loggedWrites, loggedStatements, loggedLocks)

	// A slow checkpoint is not a client call, but it is slow: postgres/logged-checkpoints then says what the
	// log does not show.
	judge := rule.Judge
	rule.Judge = func(c *rules.Case, subjects []timeline.Track) []rules.Finding {
		if _, _, _, slow := slowCheckpoints(c); slow {
			return nil
		}
		return judge(c, subjects)
	}
	return rule
}

func loggedSlowStatements() rules.Rule {
	rule := rules.Rule{ID: "postgres/logged-slow-statements", Title: "The log has slow statements",
		Kind:    rules.Symptom,
		When:    "plimsoll:postgres_logged_commits_running:ratio > 0 or plimsoll:postgres_logged_writes_running:ratio > 0 or plimsoll:postgres_logged_statements_running:ratio > 0",
		Needs:   []*rules.Signal{LoggedLines},
		AnyOf:   []*rules.Signal{loggedCommits.Running, loggedWrites.Running, loggedStatements.Running},
		NoAlert: "it is about a log that was read",
		Cause:   "The server logs each statement that takes longer than log_min_duration_statement. A COMMIT waits for its WAL to be flushed, and for a synchronous standby; another statement may wait for locks, read from disk, or simply do much work.",
		Words: rules.Words{
			"commits":    "The log has {{.n}} commits of 100 ms and more, the longest {{.longest}} (until {{.at}} UTC): they waited for the WAL, or for a synchronous standby.",
			"writes":     "It has {{.n}} INSERT, UPDATE, DELETE or COPY of 100 ms and more, the longest {{.longest}} (until {{.at}} UTC).",
			"statements": "It has {{.n}} other statements of 100 ms and more, the longest {{.longest}} (until {{.at}} UTC).",
			"checkpoint": "Checkpoints ran for {{.share}} of the time of the slow commits and writes, and for {{.all}} of the log.",
			"locks":      "Sessions waited for locks {{.n}} times, up to {{.longest}}.",
			"temporary":  "Temporary files: {{.bytes}}.",
			"autovacuum": "Autovacuum ran for {{.share}} of the time of the slow commits and writes, and for {{.all}} of the log.",
			"only":       "The log does not show how many statements were fast.",
		},
		Advice: map[string]rules.Advice{
			"record": {Summary: "Record the server and its devices (plimsoll record postgres://... host): wait events say what statements wait for",
				Expect: "the cause", TradeOff: "none", NoCommand: "it depends on where the server runs"},
		}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		f, waits, _, ok := rule.SlowLogged(c, "postgres",
			rules.SlowCalls{Of: loggedCommits, Words: "commits", Waits: true},
			rules.SlowCalls{Of: loggedWrites, Words: "writes", Waits: true},
			rules.SlowCalls{Of: loggedStatements, Words: "statements"})
		if !ok {
			return nil
		}

		sayMeanwhile(c, &f, waits)
		f.Say("only", nil)
		f.Advise("record", nil)
		return []rules.Finding{f}
	}

	return rule
}

// sayMeanwhile adds what else was logged during the slow writes.
func sayMeanwhile(c *rules.Case, f *rules.Finding, waiting timeline.Mask) {
	all := timeline.Known(c.One(LoggedLines))
	for _, x := range []struct {
		of    rules.Logged
		words string
	}{{loggedCheckpointRuns, "checkpoint"}, {loggedAutovacuums, "autovacuum"}} {
		sum := c.SumOf(x.of)
		if share := rules.Share(sum.Running, waiting); share > 0 {
			f.Say(x.words, rules.Values{"share": rules.Part(share), "all": rules.Part(rules.Share(sum.Running, all))})
			f.Evidence = append(f.Evidence, sum.Evidence(c, x.of)[:2]...)
		}
	}

	if locks := c.SumOf(loggedLocks); locks.N > 0 {
		f.Say("locks", locks.Values())
		f.Evidence = append(f.Evidence, locks.Evidence(c, loggedLocks)[:2]...)
	}

	if bytes := timeline.Sum(c.One(LoggedTempBytes)) * c.Grid.StepSeconds(); bytes > 0 {
		f.Say("temporary", rules.Values{"bytes": rules.Bytes(bytes)})
		f.Evidence = append(f.Evidence, c.Figure("logged temporary files", LoggedTempBytes, bytes, "bytes", all))
	}
}
