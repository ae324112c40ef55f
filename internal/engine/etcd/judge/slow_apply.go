package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// A busy cluster has occasional slow requests. With minSlowApplies or more, during at least minShare
	// of the time, they are a pattern.
	minSlowApplies = 10.0
	slowApplyRate  = 0.1 // 1/s: one in ten seconds
	// At 5,000 proposals committed but not applied etcd refuses requests (v3_server.go).
	applyBacklogFull = 5000.0
	applyBacklogMuch = 500.0
	largeAnswers     = 10e6 // bytes/s sent to clients: 100 times the traffic of small keys
)

func slowApply() rules.Rule {
	rule := rules.Rule{ID: "etcd/slow-apply",
		Title:   "Requests take long to apply, and the disk is not the cause",
		Kind:    rules.Cause,
		When:    "plimsoll:etcd_slow_applies:rate > 0.1",
		Needs:   []*rules.Signal{SlowApplies, BackendCommitP99},
		Refutes: rules.DiskResources,
		NoAlert: "slow backend commits also slow applies down, and they have an alert",
		Cause:   "A member applies proposals one after the other, under the backend's lock. A range over many keys, a large transaction or a large value holds the lock, and everything behind it waits. A member short of CPU has the same effect. etcd counts each request that takes over 100 ms to apply or to read.",
		Words: rules.Words{
			"not the disk": "No volume fixes this:",
			"slow":         "{{.slow}} requests took over 100 ms to apply or to read, while the backend's commits took {{.commit}} (median p99){{with .fsync}} and the WAL's syncs {{.}}{{end}}.",
			"backlog":      "Up to {{.backlog}} proposals were committed but not applied{{with .full}}: at 5,000 etcd answers \"too many requests\"{{end}}.",
			"ranges":       "On average, ranges were being read {{.share}} of the time.",
			"sent":         "Meanwhile clients received {{.sent}} per second, compared with {{.usual}} otherwise: large answers.",
			"CPU":          "Meanwhile the CPUs were {{.busy}} busy.",
		},
		Advice: map[string]rules.Advice{
			"find": {Summary: "Find the requests: etcd logs each one as \"apply request took too long\" with its key and the number of keys it returned",
				Expect:    "one client that lists everything, or one large key",
				TradeOff:  "none",
				NoCommand: "the log is on the member's host"},
			"page": {Summary: "Make that client request pages (limit, and continue in Kubernetes), watch instead of listing, and split large values",
				Expect:    "the requests behind it do not wait",
				TradeOff:  "work in the client",
				NoCommand: "the client has to change"},
			"CPU": {Summary: "Give etcd more CPU", Expect: "the same requests take less time",
				TradeOff: "the instance's price", NoCommand: "it depends on what uses the CPUs"},
		}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		return eachMember(held, func(_ timeline.Track, inst string, cells timeline.Mask) (rules.Finding, bool) {
			return slowApplyFinding(rule, c, inst, cells)
		})
	}

	return rule
}

func slowApplyFinding(r rules.Rule, input *rules.Case, inst string,
	cells timeline.Mask) (rules.Finding, bool) {
	slow := math.Round(timeline.Sum(timeline.At(input.For(SlowApplies, "instance", inst),
		cells)) * input.Grid.StepSeconds())
	if slow < minSlowApplies || rules.Share(cells,
		timeline.Known(input.For(SlowApplies, "instance", inst))) < minShare {
		return rules.Finding{}, false
	}

	// If commits or syncs are slow at the same time, applies wait for the disk, and other rules
	// report it.
	at := func(s *rules.Signal, q float64) float64 {
		return timeline.Quantile(timeline.At(input.For(s, "instance", inst), cells), q)
	}
	commit, fsync := at(BackendCommitP99, 0.5), at(WALFsyncP99, 0.5)
	if !(commit <= commitCriterionS) || fsync > fsyncCriterionS {
		return rules.Finding{}, false
	}

	finding := r.Finding(rules.InstanceOf("etcd", inst))
	finding.Severity, finding.Foremost = rules.Warning, true
	finding.Windows = input.Windows(cells.Close(input.Cells(oneBurst)))

	if finding.Weight = rules.Share(cells,
		timeline.Known(input.For(SlowApplies, "instance", inst))); input.Stall.Any() {
		finding.Weight = rules.Share(cells.Widen(1, 1), input.Stall.Cells)
	}

	finding.Say("not the disk", nil)
	finding.Say("slow", rules.Values{"slow": rules.Events(slow), "commit": rules.Seconds(commit),
		"fsync": rules.Seconds(fsync)})
	finding.Evidence = []rules.Evidence{input.Figure("requests that took over 100 ms", SlowApplies,
		slow, "", cells),
		input.Figure("p99 of the backend's commits at the same time, median", BackendCommitP99, commit,
			"seconds", cells)}

	if backlog := timeline.Max(timeline.At(input.For(ApplyBacklog, "instance", inst),
		cells)); backlog >= applyBacklogMuch {
		full := backlog >= applyBacklogFull
		if full {
			finding.Severity = rules.Critical
		}
		finding.Say("backlog", rules.Values{"backlog": rules.Events(backlog), "full": rules.If(full, "yes")})
		finding.Evidence = append(finding.Evidence,
			input.Figure("proposals committed but not applied, maximum", ApplyBacklog, backlog, "", cells))
	}

	if ranges := timeline.Mean(timeline.At(input.For(RangeTime, "instance", inst), cells)); ranges >= minShare {
		finding.Say("ranges", rules.Values{"share": rules.Part(ranges)})
		finding.Evidence = append(finding.Evidence,
			input.Figure("ranges being read concurrently, mean", RangeTime, ranges, "", cells))
	}

	sent := input.For(ClientBytesSent, "instance", inst)
	if now, usual := timeline.Mean(timeline.At(sent, cells)),
		timeline.Quantile(timeline.At(sent, cells.Not()), 0.5); now >= largeAnswers && now > 3*usual {
		finding.Say("sent", rules.Values{"sent": rules.Bytes(now), "usual": rules.Bytes(usual)})
		finding.Evidence = append(finding.Evidence,
			input.Figure("bytes sent to clients, mean", ClientBytesSent, now, "bytes/s", cells))
	}

	finding.Advise("find", nil)
	finding.Advise("page", nil)
	if busy := timeline.Mean(timeline.At(input.One(rules.CPUBusy), cells)); busy > busyCPU {
		finding.Say("CPU", rules.Values{"busy": rules.Part(busy)})
		finding.Advise("CPU", nil)
	}

	return finding, true
}
