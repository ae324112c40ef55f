package corerules

import (
	"plimsoll/internal/record/timeline"

	"plimsoll/internal/judge/rules"
)

// A syncLog describes a program whose log reports slow syncs.
type syncLog struct {
	product, words string
	slow           rules.Logged
}

var syncLogs = []syncLog{
	{"Redis", "redis", rules.RedisDelayed},
	{"ZooKeeper", "zookeeper", rules.ZookeeperSyncs},
}

// savesShare is the share of Redis' delayed writes above which its background writes are named.
const savesShare = 0.5

func diskLoggedSyncs() rules.Rule {
	rule := rules.Rule{ID: "disk/logged-slow-syncs", Title: "The log has slow syncs", Kind: rules.Cause, Storage: true, Whole: true,
		Needs: []*rules.Signal{}, AnyOf: []*rules.Signal{rules.RedisDelayed.Running, rules.ZookeeperSyncs.Running},
		NoAlert: "it is about a log that was read",
		Cause:   "Redis writes its append-only file from the thread that serves clients. While a sync of the file runs, the write would block, so Redis delays it; after 2 s it writes anyway, logs that, and all clients wait. ZooKeeper answers a write after the sync of its transaction log on a majority, and logs syncs of over 1 s (fsync.warningthresholdms).",
		Words: rules.Words{
			"redis":         "A sync of the append-only file had run for over 2 s when Redis logged it, {{.n}} {{if eq .n \"1\"}}time{{else}}times{{end}} in {{.for}}: each time its clients wait for the disk.",
			"zookeeper":     "ZooKeeper logged {{.n}} {{if eq .n \"1\"}}sync{{else}}syncs{{end}} of its transaction log that took over 1 s in {{.for}}, {{.total}} in total; the longest took {{.longest}} and ended at {{.at}} UTC. Writes wait for it.",
			"saves":         "A background save or a rewrite of the file ran during {{.share}} of them: it writes the whole data set to the same disk.",
			"alone":         "{{.share}} of them came while no background save or rewrite ran: the disk is slow without one.",
			"only":          "The log has only these: how long other syncs took is unknown.",
			"nothing title": "The log has no slow syncs",
			"nothing":       "In {{.for}} {{.product}}'s log has no slow sync. It logs only those of over {{.least}}, so shorter ones leave no line.",
			"open":          "{{.product}} logged no slow sync in {{.for}}; shorter ones than {{.least}} leave no line.",
		},
		Advice: map[string]rules.Advice{
			"apart": {Summary: "Put the log (ZooKeeper's dataLogDir, Redis' appendonlydir) on a separate volume with a low sync latency",
				Expect: "syncs wait for nothing else", TradeOff: "one more volume",
				NoCommand: "it depends on where the program runs"},
			"rewrite": {Summary: "Set no-appendfsync-on-rewrite to yes, and keep aof-rewrite-incremental-fsync and rdb-save-incremental-fsync on",
				Expect: "no sync competes with a background save or rewrite", TradeOff: "a crash during one loses up to 30 s of writes instead of one",
				NoCommand: "only you know whether that is acceptable"},
			"record": {Summary: "Record the devices meanwhile: S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log",
				Expect: "whether the volume is at a limit, has a queue, or is slow by itself", TradeOff: "none",
				NoCommand: "it is not a change"},
		}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, l := range syncLogs {
			if len(c.Signal(l.slow.Running)) == 0 {
				continue
			}
			// Measured waits say more than a log without slow syncs.
			if f := logged(rule, c, l); f.Kind == rules.Cause || c.Stall.Observed.Count() == 0 {
				out = append(out, f)
			}
		}
		return out
	}

	return rule
}

func logged(r rules.Rule, input *rules.Case, log syncLog) rules.Finding {
	finding := r.Finding(log.product)
	seen := timeline.Known(input.One(log.slow.Running))
	sum := input.SumOf(log.slow)
	v := sum.Values()
	v["for"], v["product"], v["least"] = rules.Seconds(input.Seconds(seen)), rules.Called(log.product), "1 s"
	if log.words == "redis" {
		v["least"] = "2 s"
	}

	if sum.N < 1 {
		finding.Kind, finding.Severity = rules.Symptom, rules.Info
		finding.Entitle("nothing title", v)
		finding.Say("nothing", v)
		finding.Open("open", v)
		finding.Evidence = []rules.Evidence{input.Figure("slow syncs in the log", log.slow.Running, 0, "", seen)}
		return finding
	}

	finding.Severity, finding.Foremost = rules.Warning, true
	finding.Windows = input.Windows(sum.Running)
	finding.PeriodS = input.Period(sum.Running.Close(input.Cells(5e9)))
	if finding.Weight = rules.Share(sum.Running, input.Stall.Cells); !input.Stall.Any() {
		finding.Weight = 1
	}
	finding.Say(log.words, v)
	finding.Evidence = sum.Evidence(input, log.slow)

	// A save explains the delays in it, but a disk that delays writes at other times is slow itself.
	if saves := input.SumOf(rules.RedisSaves); log.words == "redis" && saves.N > 0 {
		share := rules.Share(saves.Running, sum.Running)
		finding.Evidence = append(finding.Evidence, input.Figure("share of that time in which a background save or rewrite ran",
			rules.RedisSaves.Running, share, "ratio", sum.Running))
		if share >= savesShare {
			finding.Say("saves", rules.Values{"share": rules.Part(share)})
			finding.Advise("rewrite", nil)
		}
		if share < 1 {
			finding.Say("alone", rules.Values{"share": rules.Part(1 - share)})
		}
	}

	finding.Say("only", nil)
	finding.Advise("apart", nil)
	finding.Advise("record", nil)
	return finding
}
