package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// CheckpointLongest is the longest checkpoint since the process started.
var CheckpointLongest = signal("wt_checkpoint_longest:seconds",
	"seconds", "the longest checkpoint since the process started",
	`mongodb_ss_wt_checkpoint_max_time_msecs / 1000`,
	`mongodb_ss_wt_txn_transaction_checkpoint_max_time_msecs / 1000`)

// slowMeanS is the mean over all operations since the start above which they are slow in general: the
// least latency that counts as a stall of a database.
const slowMeanS = rules.StallFloorS

// sinceStart judges one serverStatus, whose counters are totals since the process started. Longer
// recordings have the engine's other rules.
func sinceStart() rules.Rule {
	rule := rules.Rule{ID: "mongodb/since-start", Title: "What the totals since the start show",
		Kind: rules.Symptom, Sums: true, Whole: true, Needs: []*rules.Signal{},
		AnyOf:   []*rules.Signal{WriteWaiting, LogSyncTime, CheckpointLongest},
		NoAlert: "it judges a single serverStatus; the rules for each cause have alerts",
		Cause:   "One serverStatus has totals since the process started. They show whether operations are slow in general. A stall of seconds disappears in them, except in the longest checkpoint.",
		Words: rules.Words{
			"slow title": "{{.what}} are slow in general",
			"mean":       "{{.what}} took {{.mean}} on average since the server started.",
			"opening":    "{{.what}} took {{.mean}} on average since the server started{{with .longest}}; the longest checkpoint took {{.}}{{end}}.",
			"checkpoint": "The longest checkpoint took {{.longest}}.",
			"dirty":      "{{.dirty}} of the cache was dirty when this was saved.",
			"more":       "To see when and why, save one each second for some minutes, or give the diagnostic.data folder of the same server.",
		},
		Advice: map[string]rules.Advice{"capture": {
			Summary:  "Give the diagnostic.data folder in the server's dbPath: it has one sample per second for days back",
			Expect:   "when operations were slow, and what held them up",
			TradeOff: "none", NoCommand: "the folder is already there"}},
	}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		if !input.SinceStart {
			return nil
		}

		finding := rule.Finding("MongoDB")
		finding.Severity, finding.Weight = rules.Info, 0.5
		whole := make(timeline.Mask, input.Grid.N).Not()
		var opening rules.Values

		for _, x := range []struct {
			what      string
			time, ops *rules.Signal
		}{{"Writes", WriteWaiting, Writes}, {"Reads", ReadWaiting, Reads}, {"The journal's syncs",
			LogSyncTime, LogSyncs}} {
			mean := timeline.Sum(input.One(x.time)) / timeline.Sum(input.One(x.ops))
			if !(mean > 0) || math.IsInf(mean, 0) {
				continue
			}

			v := rules.Values{"what": rules.Called(x.what), "mean": rules.Seconds(mean), "longest": ""}
			if mean >= slowMeanS && finding.Severity == rules.Info {
				finding.Severity, opening = rules.Warning, v
				finding.Entitle("slow title", v)
			}

			finding.Say("mean", v)
			if opening == nil {
				opening = v
			}
			finding.Evidence = append(finding.Evidence,
				input.Figure("mean of "+x.what, x.time, mean, "seconds", whole))
		}

		// The number of checkpoints is not a signal, so only the longest is judged.
		if longest := timeline.Max(input.One(CheckpointLongest)); longest > 0 {
			v := rules.Values{"longest": rules.Seconds(longest)}
			finding.Say("checkpoint", v)
			finding.Open("checkpoint", v)
			if opening != nil {
				opening["longest"] = v["longest"]
			}
			finding.Evidence = append(finding.Evidence, input.Figure("longest checkpoint", CheckpointLongest, longest,
				"seconds", whole))
		}

		if opening != nil {
			finding.Open("opening", opening)
		}
		if len(finding.Evidence) == 0 {
			return nil
		}
		if dirty := timeline.Max(input.One(DirtyRatio)); dirty >= 0 {
			finding.Say("dirty", rules.Values{"dirty": rules.Part(dirty)})
		}

		finding.Say("more", nil)
		finding.Advise("capture", nil)
		return []rules.Finding{finding}
	}

	return rule
}
