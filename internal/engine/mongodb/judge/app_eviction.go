package judge

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func appEviction() rules.Rule {
	r := rules.Rule{ID: "wiredtiger/app-eviction", Title: "Application threads evict pages", Kind: rules.Cause,
		When:  "plimsoll:wt_app_evictions:rate > 10",
		Cause: "When the eviction threads cannot keep up, the threads that serve clients evict pages before they may go on. It is the second step of cache pressure."}
	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		rate := c.One(AppEvictions)
		if len(held) == 0 || c.Seconds(timeline.Known(held[0].Values)) < 2 {
			return nil
		}
		pages := timeline.Sum(rate) * c.Grid.StepSeconds()
		share, seconds, of, measured := c.WaitShare(AppEvictTime)
		f := r.Finding("wiredtiger cache")
		f.Weight = share
		cells := timeline.Known(held[0].Values)
		if !measured && c.Contrasts(cells) {
			f.Weight, _, _ = c.Attributable(cells)
		}
		f.Severity = c.SeverityOf(f.Weight)
		f.Windows = c.Windows(cells.Close(3))
		f.Summary = fmt.Sprintf("%s pages were evicted by application threads (up to %s a second)", units.Number(pages), units.Number(timeline.Max(rate)))
		switch {
		case measured && share < rules.MinWaitShare:
			f.Summary += fmt.Sprintf(", which took them %s while stalled: only %s of the %s of stalled waiting. A sign of pressure, not what the time went into.", rules.OpSeconds(seconds), units.Percent(share), rules.OpSeconds(of))
		case measured:
			f.Summary += fmt.Sprintf(", which took them %s while stalled, against %s of stalled waiting in all (%s).", rules.OpSeconds(seconds), rules.OpSeconds(of), units.Percent(share))
		case !c.Stall.Any():
			f.Summary += ". No write stalled: a sign of pressure, nothing more."
		default:
			f.Summary += "; how long it took them this version does not tell."
		}
		f.Evidence = []rules.Evidence{
			c.Figure("pages evicted by application threads", AppEvictions, pages, "pages", cells),
			c.Figure("most in one interval", AppEvictions, timeline.Max(rate), "1/s", cells),
		}
		if measured {
			f.Evidence = append(f.Evidence, c.Figure("time it took them in the stalled time, summed", AppEvictTime, seconds, units.OpSeconds, c.Stall.Cells))
		}
		f.Fixes = []rules.Fix{{Summary: "Let the background start earlier: eviction_dirty_target=2,eviction_dirty_trigger=10,eviction=(threads_min=4,threads_max=8)",
			Expect: "application threads stop evicting; a stall behind the journal's fdatasync stays as it is", TradeOff: "CPU; more page writes"}}
		return []rules.Finding{f}
	}
	return r
}
