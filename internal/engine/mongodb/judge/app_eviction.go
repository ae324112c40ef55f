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

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		rate := input.One(AppEvictions)
		if len(held) == 0 || input.Seconds(timeline.Known(held[0].Values)) < 2 {
			return nil
		}

		pages := timeline.Sum(rate) * input.Grid.StepSeconds()
		share, seconds, of, measured := ofAll(input, AppEvictTime)
		finding := rule.Finding("wiredtiger cache")
		finding.Weight = share

		// Without the timer, the coincidence of eviction and stalls is the only evidence.
		cells := timeline.Known(held[0].Values)
		if !measured && input.Contrasts(cells) {
			finding.Weight, _, _ = input.Attributable(cells)
		}

		finding.Severity = input.SeverityOf(finding.Weight)
		if !measured {
			finding.Severity = input.SeverityIn(cells, finding.Weight)
		}

		finding.Windows = input.Windows(cells.Close(3))
		finding.Say("evicted", rules.Values{"pages": rules.Number(pages), "most": rules.Number(timeline.Max(rate))})

		took := rules.Values{"took": rules.Of(seconds, units.OpSeconds), "of": rules.Of(of, units.OpSeconds),
			"share": rules.Part(share)}
		switch {
		case measured && share < rules.MinWaitShare:
			finding.Say("a sign", took)
		case measured:
			finding.Say("took", took)
		case !input.Stall.Any():
			finding.Say("no stall", nil)
		default:
			finding.Say("not measured", nil)
		}

		finding.Evidence = []rules.Evidence{
			input.Figure("pages evicted by application threads", AppEvictions, pages, "pages", cells),
			input.Figure("most in one interval", AppEvictions, timeline.Max(rate), "1/s", cells),
		}

		if measured {
			finding.Evidence = append(finding.Evidence,
				input.Figure("time it took the stalled operations beyond the usual, summed", AppEvictTime, seconds,
					units.OpSeconds, input.Stall.Cells))
		}

		finding.Advise("earlier", nil)
		return []rules.Finding{finding}
	}

	return rule
}
