package applog

import (
	"embed"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Signals for reading recordings.
var (
	signals rules.Group

	appends = signals.Add(rules.Signal{
		Name: rules.SignalPrefix + "applog_appends:rate", Unit: "1/s", Help: "appends acknowledged per second",
		Exprs: []string{"sum(irate(" + metricAppends + "[$w]))"},
	})
	appendsWaiting = signals.Add(rules.Signal{
		Name: rules.SignalPrefix + "applog_append_time:ratio", Unit: "s/s",
		Help:  "seconds of append latency credited per second",
		Exprs: []string{"sum(irate(" + metricAppendSeconds + "[$w]))"},
	})
	compacting = signals.Add(rules.Signal{
		Name: rules.SignalPrefix + "applog_compacting:bool", Help: "1 while a compaction runs",
		Exprs: []string{"max(" + metricCompacting + ")"},
	})
)

//go:embed testdata/*.test
var scripts embed.FS

const slowAppends = "applog/slow-appends"

// knowledge is the engine's part of the rule pack.
func knowledge() rules.Knowledge {
	return rules.Knowledge{
		Database: "applog", Product: "Append-only log",
		Anchor:  appends,
		Signals: signals,
		Rules: []rules.Rule{
			rules.SymptomRule(slowAppends, "Appends stall", rules.SignalPrefix+"applog_append_time:ratio > 0.5",
				"A write is acknowledged when its fdatasync has ended. A slow one delays all writes that arrive meanwhile."),
			compactionStall(),
		},
		Scripts: scripts,
		Stalls: func(sig *rules.Signals) []rules.Stall {
			return rules.Found(rules.ByLatency(sig.Time, rules.StallFloorS, rules.Stall{
				Rule: slowAppends, Subject: "Append-only log's appends", Class: rules.Writing, IsDatabase: true,
				OfLog:   true,
				Waiting: sig.One(appendsWaiting), Ops: sig.One(appends), Of: []*rules.Signal{appendsWaiting, appends},
			}))
		},
		Felt: []*rules.Signal{appendsWaiting, appends},
		Cycle: func(sig *rules.Signals) (rules.Cycle, bool) {
			running := sig.One(compacting)
			return rules.Cycle{Cells: compactions(running), After: 1}, running != nil
		},
		Compared: rules.Compared{
			// Only appends are compared: compactions have no client that waits for them.
			Operations: []rules.Operations{{Signals: []*rules.Signal{appends}}},
			Writes:     rules.Felt{Rule: slowAppends},
			CycleEvery: 30 * time.Second,
			Source:     "its own metrics",
		},
		Exporter: "its own metrics",
	}
}

func compactions(running []float64) timeline.Mask {
	return timeline.Where(running, func(x float64) bool { return x > 0 })
}

func compactionStall() rules.Rule {
	r := rules.Rule{
		ID: "applog/compaction-stall", Title: "Compactions stall appends", Kind: rules.Cause,
		When:    rules.SignalPrefix + "applog_compacting:bool > 0",
		NoAlert: "its condition is that a compaction runs, which is not a fault",
		Cause:   "A compaction rewrites all live data and syncs it. On the log's volume that fills the queue, and every append waits in it.",
		Words:   rules.Words{"during": "{{.share}} of the stalled time falls into compactions."},
		Advice: map[string]rules.Advice{"apart": {
			Summary: "Put the log on its own volume", Expect: "appends no longer wait behind a compaction",
			TradeOff: "one more volume", NoCommand: "it has no server to change",
		}},
	}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		// Appends that queued up during a compaction still wait after it has ended.
		near := c.WithAftermath(compactions(c.One(compacting)))
		fraction, pIn, pOut := c.Attributable(near)
		// Without a contrast with the time outside compactions, there is no evidence that they are the cause.
		if fraction < rules.MinAttributable || pIn < rules.StallRatio*pOut || !c.Contrasts(near) {
			return nil
		}

		f := r.Finding("log")
		f.Weight, f.Severity = fraction, c.SeverityOf(fraction)
		f.Windows = c.Windows(near.And(c.Stall.Cells))
		f.PeriodS = c.Period(near)
		f.Say("during", rules.Values{"share": rules.Part(rules.Share(near, c.Stall.Cells))})
		f.Evidence = []rules.Evidence{c.Figure("share of the time that stalled during a compaction", compacting,
			pIn, "ratio", near)}
		f.Advise("apart", nil)

		return []rules.Finding{f}
	}

	return r
}
