package judge

import (
	"math"
	"strconv"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// mongodLogs explains which operations appear in mongod's log.
const mongodLogs = "mongod logs an operation only if it takes over slowms (100 ms by default), and with slowOpSampleRate only some of them: waits below that leave no line. Its diagnostic.data folder has all operations of every second."

func nothingLogged() rules.Rule {
	return rules.NothingLogged("mongodb/nothing-slow-logged", "mongod", mongodLogs, loggedWrites.Running, loggedWrites,
		loggedReads, loggedStatus, loggedCheckpoints)
}

func loggedSlowOperations() rules.Rule {
	rule := rules.Rule{ID: "mongodb/logged-slow-operations", Title: "The log has slow operations",
		Kind:    rules.Symptom,
		When:    "plimsoll:mongodb_logged_writes_running:ratio > 0 or plimsoll:mongodb_logged_reads_running:ratio > 0",
		Needs:   []*rules.Signal{loggedWrites.Running, loggedReads.Running},
		NoAlert: "it is about a log that was read; the metrics have alerts",
		Cause:   "mongod logs each operation longer than slowms (100 ms by default), with the time it spent reading from disk and waiting for the cache, for locks, for flow control and for its write concern. The rest is work, or a wait for the journal, a ticket or a CPU.",
		Words: rules.Words{
			"writes":      "The log has {{.n}} write{{if ne (print .n) \"1\"}}s{{end}} longer than slowms, the longest {{.longest}} (until {{.at}} UTC).",
			"reads":       "It has {{.n}} read{{if ne (print .n) \"1\"}}s{{end}} longer than slowms, the longest {{.longest}} (until {{.at}} UTC).",
			"spent":       "Of their {{.all}} they spent{{with .disk}} {{.}} reading from disk,{{end}}{{with .cache}} {{.}} waiting for room in the cache,{{end}}{{with .locks}} {{.}} for locks,{{end}}{{with .flow}} {{.}} for flow control,{{end}}{{with .concern}} {{.}} for the write concern,{{end}} and the log does not explain the rest.",
			"scans":       "{{.n}} of them scanned a whole collection: no volume fixes these.",
			"checkpoints": "{{.n}} checkpoints took over 20 s, the longest {{.longest}}; they ran for {{.share}} of the time of the slow writes.",
			"status":      "serverStatus took over 1 s {{.n}} times, up to {{.longest}}: the whole server was held up.",
			"flow":        "Flow control was engaged: a majority of the members lags.",
			"full":        "The cache was full (WT_CACHE_FULL) {{.n}} times.",
			"primary":     "The member won {{.won}} and lost {{.lost}} elections.",
			"builds":      "{{.n}} index build{{if ne (print .n) \"1\"}}s{{end}} ended.",
			"only":        "The log does not show how many operations were quick.",
		},
		Advice: map[string]rules.Advice{
			"data": {Summary: "Give the diagnostic.data folder of the same server: it has every second of its caches, checkpoints, journal and disks",
				Expect: "the cause", TradeOff: "none", NoCommand: "it is in the server's dbPath"},
			"index": {Summary: "Give the queries with planSummary COLLSCAN an index", Expect: "they read a few documents",
				TradeOff: "an index costs writes and memory", NoCommand: "it depends on the queries"},
		}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		f, waits, all, ok := rule.SlowLogged(c, "mongodb",
			rules.SlowCalls{Of: loggedWrites, Words: "writes", Waits: true},
			rules.SlowCalls{Of: loggedReads, Words: "reads"})
		if !ok {
			return nil
		}

		saySpent(c, &f, all)
		scans := sayEvents(c, &f, waits)

		f.Say("only", nil)
		f.Advise("data", nil)
		if scans {
			f.Advise("index", nil)
		}

		return []rules.Finding{f}
	}

	return rule
}

// saySpent reports where the slow operations spent their time. Each line has its own operation's waits,
// so these are parts of the same sum.
func saySpent(c *rules.Case, f *rules.Finding, all float64) {
	v := rules.Values{"all": rules.Seconds(all)}
	some := false
	for _, x := range []struct {
		name, text string
		of         *rules.Signal
	}{
		{"disk", "reading from disk", LoggedDiskReads}, {"cache", "waiting for the cache", LoggedCacheWaits},
		{"locks", "waiting for locks", LoggedLockWaits}, {"flow", "waiting for flow control", LoggedFlowWaits},
		{"concern", "waiting for the write concern", LoggedConcernWaits},
	} {
		s := timeline.Sum(c.One(x.of)) * c.Grid.StepSeconds()
		if v[x.name] = ""; !(s > 0) {
			continue
		}
		v[x.name], some = rules.Seconds(s), true
		f.Evidence = append(f.Evidence,
			c.Figure("time of slow operations "+x.text, x.of, s, "seconds", timeline.Known(c.One(x.of))))
	}

	if some {
		f.Say("spent", v)
	}
}

// sayEvents adds what else the log contains, and reports whether operations scanned a collection.
func sayEvents(c *rules.Case, f *rules.Finding, writes timeline.Mask) (scans bool) {
	count := func(s *rules.Signal) float64 {
		return math.Round(max(0, timeline.Sum(c.One(s))) * c.Grid.StepSeconds())
	}
	event := func(words, text string, s *rules.Signal) bool {
		n := count(s)
		if n > 0 {
			f.Say(words, rules.Values{"n": counted(n)})
			f.Evidence = append(f.Evidence, c.Figure(text, s, n, "", timeline.Known(c.One(s))))
		}
		return n > 0
	}

	scans = event("scans", "logged operations that scanned a collection", LoggedScans)
	if long := c.SumOf(loggedCheckpoints); long.N > 0 {
		v := long.Values()
		v["share"] = rules.Part(rules.Share(long.Running, writes))
		f.Say("checkpoints", v)
		f.Evidence = append(f.Evidence, long.Evidence(c, loggedCheckpoints)[:2]...)
	}
	if status := c.SumOf(loggedStatus); status.N > 0 {
		f.Say("status", status.Values())
		f.Evidence = append(f.Evidence, status.Evidence(c, loggedStatus)[:2]...)
	}

	event("flow", "log lines about flow control", LoggedFlowControl)
	event("full", "log lines with WT_CACHE_FULL", LoggedCacheFull)
	event("builds", "index builds that ended", LoggedIndexBuilds)
	if won, lost := count(LoggedElections), count(LoggedStepdowns); won+lost > 0 {
		f.Say("primary", rules.Values{"won": counted(won), "lost": counted(lost)})
		f.Evidence = append(f.Evidence, c.Figure("elections won", LoggedElections, won, "", writes),
			c.Figure("stepdowns", LoggedStepdowns, lost, "", writes))
	}

	return scans
}

// counted formats a number of events.
func counted(n float64) rules.Value { return rules.Called(strconv.FormatFloat(n, 'f', 0, 64)) }
