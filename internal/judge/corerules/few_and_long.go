package corerules

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func fewAndLong() rules.Rule {
	r := rules.Rule{ID: "queries/few-and-long", Title: "A few clients run long operations", Kind: rules.Symptom,
		Needs: []*rules.Signal{}, Whole: true,
		NoAlert: "it compares each time with the usual around it",
		Cause:   "A report, an export or a scan: one or two clients run operations that take long by nature, one after the other. The mean latency is high because no other client is active. It is not a stall: clients wait only for their own work.",
		Words: rules.Words{
			"few": "For {{.for}}, {{.clients}} took {{.median}} each (highest mean of an interval: {{.worst}}): {{.waiting}} at a time, {{.rate}}, {{.ops}} operations in total. No other client waited.",
		},
		Advice: map[string]rules.Advice{"look": {Summary: "If they should be faster, look at the operations: the slow query log, explain, a missing index. More IOPS help only if they read from a saturated disk",
			Expect: "less work per operation", TradeOff: "an index costs writes and memory",
			NoCommand: "it depends on the operations"}}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, s := range c.Symptoms {
			n := s.Few.Count()
			if n == 0 {
				continue
			}

			f := r.Finding(s.Subject)
			f.Severity = rules.Info
			f.Windows = c.Windows(s.Few.Close(c.Cells(rules.FewGap)))

			latency, ops := timeline.At(s.Latency, s.Few), timeline.At(s.Ops, s.Few)
			if timeline.Count(latency) == 0 {
				continue
			}

			waiting := timeline.Sum(timeline.At(s.Waiting, s.Few)) / float64(n)
			rate := timeline.Sum(ops) / float64(n)
			f.Say("few", rules.Values{"for": rules.Seconds(c.Seconds(s.Few)), "clients": rules.Called(s.Subject),
				"median": rules.Seconds(timeline.Quantile(latency, 0.5)), "worst": rules.Seconds(timeline.Max(latency)),
				"waiting": rules.Number(waiting), "rate": rules.Of(rate, "1/s"),
				"ops": rules.Number(timeline.Sum(ops) * c.Grid.StepSeconds())})

			f.Evidence = []rules.Evidence{
				c.Figure("concurrent operations, mean", nil, waiting, "", s.Few),
				c.Figure("completions, mean", nil, rate, "1/s", s.Few),
				c.Figure("mean latency per interval, median", nil, timeline.Quantile(latency, 0.5), "seconds", s.Few),
			}

			f.Advise("look", nil)
			out = append(out, f)
		}

		return out
	}

	return r
}
