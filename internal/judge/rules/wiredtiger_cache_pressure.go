package rules

import (
	"fmt"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// minWaitShare is the part of the stalled waiting time from which a wait is worth a finding.
const minWaitShare = 0.05

// The triggers at which operations, not only background threads, have to evict
// (WiredTiger's eviction_trigger, eviction_dirty_trigger, eviction_updates_trigger).
var cacheTriggers = []struct {
	signal string
	over   float64
	what   string
	text   string
}{
	{"wt_cache_fill:ratio", 0.95, "full", "fullest (trigger 95 %)"},
	{"wt_dirty:ratio", 0.20, "dirty", "most dirty (trigger 20 %)"},
	{"wt_updates:ratio", 0.10, "held by updates", "most held by updates (trigger 10 %)"},
}

func wiredtigerCachePressure() Rule {
	r := Rule{ID: "wiredtiger/cache-pressure", Title: "Operations wait for room in the cache", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:wt_cache_fill:ratio >= 0.95 or plimsoll:wt_dirty:ratio >= 0.2 or plimsoll:wt_updates:ratio >= 0.1",
		Needs: []string{SignalPrefix + "wt_cache_fill:ratio", SignalPrefix + "wt_dirty:ratio"},
		Cause: "At 95 % full, 20 % dirty or 10 % updates WiredTiger makes operations wait for eviction, or evict pages themselves, before they may go on. Below these triggers eviction is background work that nobody waits for."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		over := make(timeline.Mask, c.Grid.N)
		for _, h := range held {
			over = over.Or(timeline.Known(h.Values))
		}
		share, seconds, of, measured := c.WaitShare(SignalPrefix + "wt_cache_wait:ratio")
		weight := share
		if !measured {
			// Without the wait counter only the coincidence of triggers and stalls is left.
			if weight, _, _ = c.Attributable(over); !c.contrasts(over) {
				weight = 0
			}
		}
		if weight < minWaitShare || !measured && weight < minAttributable {
			return nil
		}
		f := r.finding("wiredtiger cache")
		f.Weight, f.Severity = weight, c.severityOf(weight)
		if f.Windows = c.Windows(over.And(c.Stall.Cells)); len(f.Windows) == 0 {
			// Fill is sampled, waiting is counted: a short spell over a trigger shows in the latter only.
			waits := timeline.Where(c.One(SignalPrefix+"wt_cache_wait:ratio"), func(x float64) bool { return x > 0.5 })
			f.Windows = c.Windows(waits.And(c.Stall.Cells))
		}
		f.Summary = r.cacheLevels(c, &f)
		if measured {
			f.Summary += fmt.Sprintf("; operations waited %s for room in it, against %s of stalled waiting in all (%s)", opSeconds(seconds), opSeconds(of), pct(share))
			f.Evidence = append(f.Evidence, c.figure("operations' waiting for the cache in the stalled time, summed (reads' too)", SignalPrefix+"wt_cache_wait:ratio", seconds, units.OpSeconds, c.Stall.Cells))
		} else {
			f.Summary += "; how long operations waited for it is not told here, the share is by coincidence of triggers and stalls"
		}
		f.Summary += "."
		f.Evidence = append(f.Evidence, c.figure("share of the stalled time over a trigger", "", Share(over, c.Stall.Cells), "ratio", c.Stall.Cells))
		if maxBytes := c.One(SignalPrefix + "wt_cache_max:bytes"); maxBytes != nil {
			f.Evidence = append(f.Evidence, c.figure("configured cache", SignalPrefix+"wt_cache_max:bytes", timeline.Max(maxBytes), "bytes", timeline.Known(maxBytes)))
		}
		f.Fixes = []Fix{
			{Summary: "Start eviction earlier and with more threads: eviction_dirty_target=2,eviction_dirty_trigger=10,eviction=(threads_min=4,threads_max=8)",
				Expect: "background threads do the work operations do now", TradeOff: "CPU: felt on 4 cores, not on 16; more page writes"},
			{Summary: "Give the cache the working set (average object size x hot documents + indexes), explicitly below the host's or container's memory",
				Expect: "fill falls under the trigger", TradeOff: "less page cache for the OS; larger checkpoints"},
		}
		return []Finding{f}
	}
	return r
}

// cacheLevels tells how full, dirty and held by updates the cache was, and which of them
// stood over its trigger.
func (r Rule) cacheLevels(c *Case, f *Finding) string {
	var levels []string
	var reached string
	for _, t := range cacheTriggers {
		v := c.One(SignalPrefix + t.signal)
		high := timeline.Max(v)
		if timeline.Count(v) == 0 {
			continue
		}
		levels = append(levels, fmt.Sprintf("%s %s", pct(high), t.what))
		if high >= t.over {
			reached = " (over the trigger)"
			levels[len(levels)-1] += reached
		}
		f.Evidence = append(f.Evidence, c.figure(t.text, SignalPrefix+t.signal, high, "ratio", timeline.Known(v)))
	}
	s := "The cache stood at up to " + strings.Join(levels, ", ")
	if reached == "" {
		s += ", over no trigger in any sample"
	}
	return s
}
