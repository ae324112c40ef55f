package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// etcdLogs explains which calls appear in etcd's log.
const etcdLogs = "etcd logs a WAL fdatasync only if it takes over 1 s, and a request only if it takes over 100 ms (--warning-apply-duration, since 3.5): syncs of 10 ms to 1 s, which miss etcd's criterion, leave no line."

func nothingLogged() rules.Rule {
	return rules.NothingLogged("etcd/nothing-slow-logged", "etcd", etcdLogs, loggedSyncs.Running, loggedSyncs, loggedWrites, loggedRanges,
		loggedHeartbeats)
}

func loggedSlowRequests() rules.Rule {
	rule := rules.Rule{ID: "etcd/logged-slow-requests", Title: "The log has requests that took long",
		Kind:    rules.Symptom,
		When:    "plimsoll:etcd_logged_writes_running:ratio > 0 or plimsoll:etcd_logged_ranges_running:ratio > 0",
		Needs:   []*rules.Signal{loggedWrites.Running},
		NoAlert: "it is about a log that was read; the metrics have alerts",
		Cause:   "The member logs each request that takes over 100 ms to apply or to read. A write waits for the WAL's sync on a majority, for the requests before it and for the backend; the line does not say for which.",
		Words: rules.Words{
			"writes":     "The log has {{.n}} requests that took over 100 ms to apply, the longest {{.longest}} (until {{.at}} UTC).",
			"ranges":     "It has {{.n}} read-only requests of over 100 ms, the longest {{.longest}} (until {{.at}} UTC).",
			"syncs":      "Fdatasyncs of over 1 s ran for {{.share}} of the time of the slow writes: the disk.",
			"unseen":     "No fdatasync of over 1 s was logged in the time of {{with .share}}{{.}} of {{end}}the slow writes. Syncs of up to 1 s leave no line, so the log alone neither blames the disk nor clears it.",
			"late":       "The leader sent {{.n}} heartbeats late, by up to {{.longest}}: a slow disk, or a member short of CPU.",
			"compaction": "Compactions ran for {{.share}} of the time of the slow writes, the longest {{.longest}}.",
		},
		Advice: map[string]rules.Advice{
			"record": {Summary: "Record the metrics (plimsoll record etcd://...): WAL fsync and backend commit show whether the disk is the cause",
				Expect: "the cause", TradeOff: "none", NoCommand: "it depends on where the members run"},
			"find": {Summary: "Look at the keys in these lines: one client that lists everything, or large values, delays the others",
				Expect: "one client to change", TradeOff: "none", NoCommand: "the log has the keys"},
		}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		f, waits, _, ok := rule.SlowLogged(c, "etcd",
			rules.SlowCalls{Of: loggedWrites, Words: "writes", Waits: true},
			rules.SlowCalls{Of: loggedRanges, Words: "ranges"})
		if !ok {
			return nil
		}

		if waits.Count() > 0 {
			sayLoggedWaits(c, &f, waits)
		}
		if late := c.SumOf(loggedHeartbeats); late.N > 0 {
			f.Say("late", late.Values())
			f.Evidence = append(f.Evidence, late.Evidence(c, loggedHeartbeats)[:2]...)
		}

		// The log shows that requests were slow, not why: the first advice is a better measurement.
		f.Advise("record", nil)
		f.Advise("find", nil)
		return []rules.Finding{f}
	}

	return rule
}

// sayLoggedWaits reports what the log contains about the time of the slow writes.
func sayLoggedWaits(c *rules.Case, f *rules.Finding, writes timeline.Mask) {
	syncs := c.SumOf(loggedSyncs)
	share := rules.Share(syncs.Running, writes)
	if share > 0 {
		f.Say("syncs", rules.Values{"share": rules.Part(share)})
		f.Evidence = append(f.Evidence, syncs.Evidence(c, loggedSyncs)[:2]...)
	}
	if left := 1 - share; left >= rules.MinAttributable {
		f.Say("unseen", rules.Values{"share": rules.If(share > 0, rules.Part(left))})
	}

	if compactions := c.SumOf(loggedCompactions); rules.Share(compactions.Running, writes) > 0 {
		v := compactions.Values()
		v["share"] = rules.Part(rules.Share(compactions.Running, writes))
		f.Say("compaction", v)
	}
}
