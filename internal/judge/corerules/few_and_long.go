package corerules

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func fewAndLong() rules.Rule {
	rule := rules.Rule{ID: "queries/few-and-long", Title: "A few clients run long operations",
		Kind:  rules.Symptom,
		Needs: []*rules.Signal{}, Whole: true,
		NoAlert: "it compares each time with the usual around it",
		Cause:   "A report, an export or a scan: one or two clients run operations that take long by nature, one after the other. The mean latency is high because no other client is active. It is not a stall: clients wait only for their own work.",
		Words: rules.Words{
			"few": "For {{.for}}, {{.clients}} took {{.median}} each (highest mean of an interval: {{.worst}}): {{.waiting}} at a time, {{.rate}}, {{.ops}} operations in total. No other client waited.",
		},
		Advice: map[string]rules.Advice{"look": {Summary: "If they should be faster, look at the operations: the slow query log, explain, a missing index. More IOPS help only if they read from a saturated disk",
			Expect: "less work per operation", TradeOff: "an index costs writes and memory",
			NoCommand: "it depends on the operations"}}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, stall := range input.Symptoms {
			n := stall.Few.Count()
			if n == 0 {
				continue
			}

			f := rule.Finding(stall.Subject)
			f.Severity = rules.Info
			f.Windows = input.Windows(stall.Few.Close(input.Cells(rules.FewGap)))

			latency, ops := timeline.At(stall.Latency, stall.Few), timeline.At(stall.Ops, stall.Few)
			if timeline.Count(latency) == 0 {
				continue
			}

			waiting := timeline.Sum(timeline.At(stall.Waiting, stall.Few)) / float64(n)
			rate := timeline.Sum(ops) / float64(n)
			f.Say("few", rules.Values{"for": rules.Seconds(input.Seconds(stall.Few)), "clients": rules.Called(stall.Subject),
				"median": rules.Seconds(timeline.Quantile(latency, 0.5)), "worst": rules.Seconds(timeline.Max(latency)),
				"waiting": rules.Number(waiting), "rate": rules.Of(rate, "1/s"),
				"ops": rules.Number(timeline.Sum(ops) * input.Grid.StepSeconds())})

			f.Evidence = []rules.Evidence{
				input.Figure("concurrent operations, mean", nil, waiting, "", stall.Few),
				input.Figure("completions, mean", nil, rate, "1/s", stall.Few),
				input.Figure("mean latency per interval, median", nil, timeline.Quantile(latency, 0.5), "seconds", stall.Few),
			}

			f.Advise("look", nil)
			out = append(out, f)
		}

		return out
	}

	return rule
}
