package rules

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

func wiredtigerAppEviction() Rule {
	r := Rule{ID: "wiredtiger/app-eviction", Title: "Application threads evict pages", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:wt_app_evictions:rate > 10",
		Cause: "When the eviction threads cannot keep up, the threads that serve clients evict pages before they may go on. It is the second step of cache pressure."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		rate := c.One(SignalPrefix + "wt_app_evictions:rate")
		if len(held) == 0 || c.Seconds(timeline.Known(held[0].Values)) < 2 {
			return nil
		}
		pages := timeline.Sum(rate) * c.Grid.StepSeconds()
		share, seconds, of, measured := c.WaitShare(SignalPrefix + "wt_app_evict_time:ratio")
		f := r.finding("wiredtiger cache")
		f.Weight = share
		cells := timeline.Known(held[0].Values)
		if !measured && c.contrasts(cells) {
			f.Weight, _, _ = c.Attributable(cells)
		}
		f.Severity = c.severityOf(f.Weight)
		f.Windows = c.Windows(cells.Close(3))
		f.Summary = fmt.Sprintf("%s pages were evicted by application threads (up to %s a second)", num(pages), num(timeline.Max(rate)))
		switch {
		case measured && share < minWaitShare:
			f.Summary += fmt.Sprintf(", which took them %s while stalled: only %s of the %s of stalled waiting. A sign of pressure, not what the time went into.", opSeconds(seconds), pct(share), opSeconds(of))
		case measured:
			f.Summary += fmt.Sprintf(", which took them %s while stalled, against %s of stalled waiting in all (%s).", opSeconds(seconds), opSeconds(of), pct(share))
		case !c.Stall.Any():
			f.Summary += ". No write stalled: a sign of pressure, nothing more."
		default:
			f.Summary += "; how long it took them this version does not tell."
		}
		f.Evidence = []Evidence{
			c.figure("pages evicted by application threads", SignalPrefix+"wt_app_evictions:rate", pages, "pages", cells),
			c.figure("most in one interval", SignalPrefix+"wt_app_evictions:rate", timeline.Max(rate), "1/s", cells),
		}
		if measured {
			f.Evidence = append(f.Evidence, c.figure("time it took them in the stalled time, summed", SignalPrefix+"wt_app_evict_time:ratio", seconds, units.OpSeconds, c.Stall.Cells))
		}
		f.Fixes = []Fix{{Summary: "Let the background start earlier: eviction_dirty_target=2,eviction_dirty_trigger=10,eviction=(threads_min=4,threads_max=8)",
			Expect: "application threads stop evicting; a stall behind the journal's fdatasync stays as it is", TradeOff: "CPU; more page writes"}}
		return []Finding{f}
	}
	return r
}
