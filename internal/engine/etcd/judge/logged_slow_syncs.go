package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// A single slow sync may be an incident on the host; two or more are a recurring problem.
	loggedRecurs = 2.0
	// loggedMuchS is how long such syncs last in total before they are more than a warning.
	loggedMuchS = 5.0
)

func loggedSlowSyncs() rules.Rule {
	rule := rules.Rule{ID: "etcd/logged-slow-syncs", Title: "The log has WAL fdatasyncs of over 1 s",
		Kind:    rules.Cause,
		Storage: true,
		When:    "plimsoll:etcd_logged_syncs_running:ratio > 0",
		Needs:   []*rules.Signal{loggedSyncs.Running},
		NoAlert: "it is about a log that was read; the metrics have alerts",
		Cause:   "The member logs each fdatasync of its WAL that takes over 1 s. A leader sends no heartbeats and acknowledges no writes during its own sync, and a follower acknowledges none. Half of an election timeout (1 s by default) is enough to lose the leader.",
		Words: rules.Words{
			"syncs":      "The log has {{.n}} WAL {{if eq .n \"1\"}}fdatasync{{else}}fdatasyncs{{end}} of over 1 s, {{.total}} in total; the longest took {{.longest}} and ended at {{.at}} UTC.",
			"only":       "etcd logs only these: how many others took over 10 ms, etcd's criterion for 99 % of them, is not in the log.",
			"heartbeats": "It sent {{.n}} heartbeats late, by up to {{.longest}}: it led, so every write waited.",
			"leader":     "It {{with .lost}}lost its leader {{.}}{{end}}{{if and .lost .changes}} and {{end}}{{with .changes}}saw the leader change {{.}}{{end}}.",
			"requests":   "Meanwhile {{.n}} requests took over 100 ms to apply, up to {{.longest}}.",
			"device":     "No device was saturated meanwhile: the device itself takes that long for a sync.",
			"queue":      "A device was saturated for {{.share}} of that time.",
			"metrics":    "The metrics of the same member cover all syncs: see those findings for how slow they are usually.",
		},
		Advice: map[string]rules.Advice{
			"apart": apartAdvice,
			"latency": {Summary: "Choose the volume by latency, not by IOPS: io2 Block Express or local NVMe",
				Expect:    "each fdatasync is as fast as the device",
				TradeOff:  "io2 costs 0.065 USD per IOPS a month; local NVMe is lost with the instance",
				NoCommand: "changing the kind of volume means adding a new member: plimsoll plan and emit write the steps"},
			"record": {Summary: "Record the metrics and the devices (plimsoll record etcd://... host): they show the syncs below 1 s and what the volume does meanwhile",
				Expect: "whether the volume is slow by itself or has a queue", TradeOff: "none",
				NoCommand: "it depends on where the members run"},
		}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		syncs := c.SumOf(loggedSyncs)
		if syncs.N < 1 {
			return nil
		}
		return []rules.Finding{loggedSyncsFinding(rule, c, syncs)}
	}

	return rule
}

func loggedSyncsFinding(r rules.Rule, input *rules.Case, syncs rules.LoggedSum) rules.Finding {
	finding := r.Finding("etcd")
	finding.Windows = input.Windows(syncs.Running)
	finding.PeriodS = input.Period(syncs.Running.Close(input.Cells(5e9)))
	finding.Say("syncs", syncs.Values())
	finding.Evidence = syncs.Evidence(input, loggedSyncs)

	if finding.Weight = rules.Share(syncs.Running, input.Stall.Cells); !input.Stall.Any() {
		finding.Weight = 1
	}

	late := input.SumOf(loggedHeartbeats)
	if late.N > 0 {
		finding.Say("heartbeats", late.Values())
		finding.Evidence = append(finding.Evidence, late.Evidence(input, loggedHeartbeats)[:2]...)
	}

	times := func(s *rules.Signal, text string) rules.Value {
		n := math.Round(timeline.Sum(input.One(s)) * input.Grid.StepSeconds())
		if !(n > 0) {
			return ""
		}
		finding.Evidence = append(finding.Evidence, input.Figure(text, s, n, "", timeline.Known(input.One(s))))
		return rules.Things(int(n), "time")
	}

	lost, changes := times(LoggedLeaderLosses, "losses of the leader"), times(LoggedLeaderChanges,
		"leader changes")
	times(LoggedElections, "elections that this member started")
	if lost != "" || changes != "" {
		finding.Say("leader", rules.Values{"lost": lost, "changes": changes})
	}

	// Whether clients waited depends on the role of the member, which only heartbeats show. A follower
	// that is slow alone delays no writes.
	finding.Severity = rules.Warning
	if syncs.N >= loggedRecurs && (late.N > 0 || lost != "" || changes != "") && syncs.Seconds >= loggedMuchS {
		finding.Severity = rules.Critical
	}

	if writes := input.SumOf(loggedWrites); writes.Running.And(syncs.Running).Count() > 0 {
		finding.Say("requests", writes.Values())
		finding.Evidence = append(finding.Evidence, writes.Evidence(input, loggedWrites)[:2]...)
	}

	// The metrics have the same syncs and all others, so their findings lead, unless they are sampled
	// too seldom to show single syncs.
	if input.Measured(WALFsyncs) {
		if finding.Say("metrics", nil); !input.Stall.Logged {
			finding.Severity = rules.Info
		}
	} else {
		finding.Foremost = true
		finding.Say("only", nil)
	}

	finding.Advise("apart", nil)
	if sat, ok := input.Saturated(); !ok {
		finding.Advise("record", nil)
	} else if share := rules.Share(sat, syncs.Running); share < rules.IdleSaturation {
		finding.Say("device", nil)
		finding.Advise("latency", nil)
	} else {
		finding.Say("queue", rules.Values{"share": rules.Part(share)})
	}

	return finding
}
