package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Logged scans are a warning if they ran for much of the log's time and are most of what was slow. Others
// are reports or maintenance.
const (
	scansRunFor  = 0.05
	scansOfSlow  = 0.5
	scansLongest = 1.0 // seconds, or
	scansMany    = 10.0
)

func loggedScansRule() rules.Rule {
	rule := rules.Rule{ID: "mongodb/logged-scans", Title: "Logged operations examine far more than they return",
		Kind:    rules.Cause,
		When:    "plimsoll:mongodb_logged_scanning_running:ratio > 0",
		Needs:   []*rules.Signal{loggedScans.Running},
		NoAlert: "it is about a log that was read; mongodb/collection-scans has an alert",
		Cause:   "A query without a fitting index examines a whole collection, or many index keys, for each result. It occupies a core while it runs, and reads what it examines through the cache.",
		Words: rules.Words{
			"scans": "{{.n}} logged {{if eq .n \"1\"}}operation{{else}}operations{{end}} examined far more documents or index keys than they returned, {{.share}} of the time of all slow operations; the longest took {{.longest}} (until {{.at}} UTC).",
			"disk":  "All slow operations spent {{.disk}} of their {{.all}} reading from disk: more memory or a quicker volume shortens only that.",
			"cpu":   "{{with .disk}}All slow operations spent {{.}} of their time reading from disk: no volume shortens the rest.{{else}}The log does not report the time spent reading from disk.{{end}}",
		},
		Advice: map[string]rules.Advice{
			"index": {Summary: "Give these queries a fitting index (planSummary, docsExamined and keysExamined in the log name them); until then bound them with maxTimeMS or send them to a secondary",
				Expect:    "a lookup instead of a scan",
				TradeOff:  "an index costs memory and a write with each change of its keys",
				NoCommand: "which index helps depends on the queries: explain shows it"},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		sum := input.SumOf(loggedScans)
		if sum.N < 1 {
			return nil
		}

		step := input.Grid.StepSeconds()
		total := input.SumOf(loggedReads).Seconds + input.SumOf(loggedWrites).Seconds
		share := min(1, sum.Seconds/total)
		disk := timeline.Sum(input.One(LoggedDiskReads)) * step
		running := rules.Share(sum.Running, timeline.Known(input.One(loggedScans.Running)))

		finding := rule.Finding("queries")
		finding.Windows, finding.Severity = input.Windows(sum.Running.Close(input.Cells(5e9))), rules.Info
		if finding.Weight = rules.Share(sum.Running, input.Stall.Cells); !input.Stall.Any() {
			finding.Weight = share
		}
		if running >= scansRunFor && share >= scansOfSlow && (sum.Longest >= scansLongest || sum.N >= scansMany) {
			finding.Severity = rules.Warning
			// Waits measured by metrics take precedence.
			finding.Foremost = input.Stall.Observed.Count() == 0 || input.Stall.Logged
		}

		v := sum.Values()
		v["share"] = rules.Part(share)
		finding.Say("scans", v)
		part := rules.Values{"disk": "", "all": rules.Seconds(total)}
		if disk >= scansOfSlow*total {
			part["disk"] = rules.Seconds(disk)
			finding.Say("disk", part)
		} else {
			if disk > 0 {
				part["disk"] = rules.Part(disk / total)
			}
			finding.Say("cpu", part)
		}

		finding.Evidence = append(sum.Evidence(input, loggedScans), input.Figure("share of the time of all slow operations",
			loggedScans.Time, share, "ratio", sum.Running))
		finding.Advise("index", nil)
		return []rules.Finding{finding}
	}

	return rule
}
