package judge

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func appEviction() rules.Rule {
	rule := rules.Rule{ID: "wiredtiger/app-eviction",
		Title: "Application threads evict pages", Kind: rules.Cause,
		When:  "plimsoll:wt_app_evictions:rate > 10",
		Cause: "When the eviction threads cannot keep up, the threads that serve clients evict pages before they may continue. This is the second stage of cache pressure.",
		Words: rules.Words{
			"evicted":      "{{.pages}} pages were evicted by application threads (up to {{.most}} a second)",
			"a sign":       ", which took them {{.took}} while stalled: only {{.share}} of the {{.of}} of stalled waiting. This is a sign of pressure, not where the time went.",
			"took":         ", which took them {{.took}} while stalled, {{.share}} of the {{.of}} of stalled waiting.",
			"no stall":     ". No write stalled, so this is only a sign of pressure.",
			"not measured": "; this version does not report how long it took them.",
		},
		Advice: map[string]rules.Advice{"earlier": {Summary: "Let background eviction start earlier: eviction_dirty_target=2,eviction=(threads_min=4,threads_max=8). Leave the triggers as they are",
			Expect:   "application threads stop evicting; a stall behind the journal's fdatasync is not affected",
			TradeOff: "CPU; more page writes", Do: []*rules.Remedy{evictEarlier}}}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		rate := c.One(AppEvictions)
		if len(held) == 0 || c.Seconds(timeline.Known(held[0].Values)) < 2 {
			return nil
		}

		pages := timeline.Sum(rate) * c.Grid.StepSeconds()
		share, seconds, of, measured := ofAll(c, AppEvictTime)
		finding := rule.Finding("wiredtiger cache")
		finding.Weight = share

		// Without the timer, the coincidence of eviction and stalls is the only evidence.
		cells := timeline.Known(held[0].Values)
		if !measured && c.Contrasts(cells) {
			finding.Weight, _, _ = c.Attributable(cells)
		}

		finding.Severity = c.SeverityOf(finding.Weight)
		if !measured {
			finding.Severity = c.SeverityIn(cells, finding.Weight)
		}

		finding.Windows = c.Windows(cells.Close(3))
		finding.Say("evicted", rules.Values{"pages": rules.Number(pages), "most": rules.Number(timeline.Max(rate))})

		took := rules.Values{"took": rules.Of(seconds, units.OpSeconds), "of": rules.Of(of, units.OpSeconds),
			"share": rules.Part(share)}
		switch {
		case measured && share < rules.MinWaitShare:
			finding.Say("a sign", took)
		case measured:
			finding.Say("took", took)
		case !c.Stall.Any():
			finding.Say("no stall", nil)
		default:
			finding.Say("not measured", nil)
		}

		finding.Evidence = []rules.Evidence{
			c.Figure("pages evicted by application threads", AppEvictions, pages, "pages", cells),
			c.Figure("most in one interval", AppEvictions, timeline.Max(rate), "1/s", cells),
		}

		if measured {
			finding.Evidence = append(finding.Evidence,
				c.Figure("time it took the stalled operations beyond the usual, summed", AppEvictTime, seconds,
					units.OpSeconds, c.Stall.Cells))
		}

		finding.Advise("earlier", nil)
		return []rules.Finding{finding}
	}

	return rule
}
