package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func cachePressure() rules.Rule {
	rule := rules.Rule{ID: "wiredtiger/cache-pressure", Title: "Operations wait for room in the cache",
		Kind: rules.Cause,
		// The levels are WiredTiger's defaults, because an expression cannot see the configuration.
		// So they count only if no source reports how long operations waited. Judge uses the
		// configured levels.
		When: "plimsoll:wt_cache_wait:ratio > 1 or" +
			" ((plimsoll:wt_cache_fill:ratio >= 0.95 or plimsoll:wt_dirty:ratio >= 0.2 or plimsoll:wt_updates:ratio >= 0.1) unless on() plimsoll:wt_cache_wait:ratio)",
		Needs: []*rules.Signal{CacheFill, DirtyRatio},
		Cause: "Above its triggers (by default 95 % full, 20 % dirty or 10 % updates; the updates trigger is half the dirty trigger if that is lowered) WiredTiger makes operations wait for eviction, or evict pages themselves, before they may continue. Below them eviction is background work, except for single pages that grow too large, which the operation that finds them evicts.",
		Words: rules.Words{
			"levels":         "The cache reached",
			"level":          "{{if .next}}, {{end}}{{.high}} {{.what}}{{with .over}} (over the trigger, {{.}}){{end}}",
			"no trigger":     ", not over any trigger in any sample",
			"waited":         "; operations waited {{.waited}} for room in it, {{.share}} of the {{.of}} of stalled waiting.",
			"evicting":       "; it is over a trigger nearly all the time, and the stalls coincide with operations evicting pages themselves",
			"always":         ": over a trigger in {{.share}} of the time, while operations evicted {{.pages}} pages a second themselves. A wait of a second or two for room is invisible in {{.step}} averages.",
			"by coincidence": "; how long operations waited for it was not measured, so the share is estimated from how triggers and stalls coincide.",
		},
		Advice: map[string]rules.Advice{
			"pins": {Summary: "Find what keeps old versions: db.currentOp({\"transaction.timeOpenMicros\": {$gt: 1e7}}), long reads, open cursors, a lagging majority; end it or bound it (transactionLifetimeLimitSeconds, maxTimeMS)",
				Expect:    "updates can be evicted again, and fall below their trigger",
				TradeOff:  "the work of the terminated transaction or query is lost",
				NoCommand: "terminating it loses its work, so inspect it first"},
			"fuller": {Summary: "Let background eviction keep more of the cache free, with more threads: eviction_target=70,eviction=(threads_min=4,threads_max=8). Leave the triggers as they are",
				Expect:   "fill stays below its trigger if the threads can keep up",
				TradeOff: "fewer pages stay cached, so more reads go to the disk", Do: []*rules.Remedy{evictFuller}},
			"earlier": {Summary: "Start eviction earlier and with more threads: eviction_dirty_target=2,eviction=(threads_min=4,threads_max=8). Leave the triggers as they are: a lower one makes operations evict sooner",
				Expect:   "background threads do the work operations do now",
				TradeOff: "CPU: noticeable on 4 cores, not on 16; more page writes", Do: []*rules.Remedy{evictEarlier}},
			"larger": {Summary: "Size the cache to hold the working set (average object size x hot documents + indexes), set explicitly and below the host's or container's memory",
				Expect: "fill falls below the trigger", TradeOff: "less page cache for the OS; larger checkpoints",
				NoCommand: "only you know how large the working set is; cache_size can be changed at run time, and a cache larger than the free memory ends in an OOM kill"},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		over := overTrigger(input, cacheTriggers...)
		share, seconds, of, measured := ofAll(input, CacheWait)
		weight := share

		// If the cache is over a trigger nearly all the time, there is no other time to compare
		// with. Then only the cells in which operations evicted are suspect.
		suspect, byEviction := over, !measured && !input.Comparable(over)
		if byEviction {
			suspect = over.And(evicting(input))
		}

		if !measured {
			// Without the wait counter, the coincidence of triggers and stalls is the only
			// evidence.
			if weight, _, _ = input.Attributable(suspect); !input.Contrasts(suspect) {
				weight = 0
			}
			// The stalls are too short for the sampling interval, so this case is judged by levels
			// alone.
			if f, ok := alwaysFull(rule, input, over); ok {
				return []rules.Finding{f}
			}
		}

		if weight < rules.MinWaitShare || !measured && weight < rules.MinAttributable {
			return nil
		}

		finding := rule.Finding("wiredtiger cache")
		finding.Weight, finding.Severity = weight, input.SeverityOf(weight)
		if !measured {
			finding.Severity = input.SeverityIn(suspect, weight)
		}

		if finding.Windows = input.Windows(suspect.And(input.Stall.Cells)); len(finding.Windows) == 0 {
			// Fill is sampled but waiting is counted, so a short time over a trigger shows only in
			// the latter.
			waits := timeline.Where(input.One(CacheWait), func(x float64) bool { return x > 0.5 })
			finding.Windows = input.Windows(waits.And(input.Stall.Cells))
		}

		cacheLevels(input, &finding)
		if measured {
			sayCacheWait(input, &finding, share, seconds, of)
		} else {
			if byEviction {
				finding.Say("evicting", nil)
			}
			finding.Say("by coincidence", nil)
		}

		finding.Evidence = append(finding.Evidence,
			input.Figure("share of the stalled time over a trigger", nil, rules.Share(over, input.Stall.Cells), "ratio",
				input.Stall.Cells))
		if maxBytes := input.One(CacheMax); maxBytes != nil {
			finding.Evidence = append(finding.Evidence,
				input.Figure("configured cache", CacheMax, timeline.Max(maxBytes), "bytes", timeline.Known(maxBytes)))
		}

		adviseCache(input, &finding)
		return []rules.Finding{finding}
	}

	return rule
}

// adviseCache advises what helps with the triggers that were reached. If no sample reached any, it
// advises what helps with dirty pages.
func adviseCache(c *rules.Case, f *rules.Finding) {
	reached := func(t cacheTrigger) bool { return t.where(c).Count() > 0 }
	full, dirty, updates := reached(fillTrigger), reached(dirtyTrigger), reached(updatesTrigger)
	p := pinnedIn(c)

	pinned := p.long() && p.presses(c)
	if updates || pinned {
		f.Advise("pins", nil)
	}

	if pinned && !dirty && !full {
		return // more eviction cannot drop pinned updates
	}

	if dirty || updates || !full {
		f.Advise("earlier", nil)
	}

	if full {
		f.Advise("fuller", nil)
	}

	if full || !updates {
		f.Advise("larger", nil)
	}
}

// Operations count as evicting above leastEvicted pages per second, and as evicting more than usual
// above moreEvicted times the calm rate.
const (
	leastEvicted = 1.0
	moreEvicted  = 2.0
)

// evicting marks where operations evict more pages than usual.
func evicting(c *rules.Case) timeline.Mask {
	rate := c.One(AppEvictions)
	least := leastEvicted
	// The median is NaN without calm time; then the fixed level applies.
	if usual := timeline.Quantile(timeline.At(rate, c.NotStalled()), 0.5); usual == usual {
		least = max(least, moreEvicted*usual)
	}
	// Where returns a short mask for a signal without values; callers index all cells.
	return timeline.Where(rate, func(x float64) bool { return x >= least }).Or(make(timeline.Mask, c.Grid.N))
}

// With intervals of coarseS or more, a stall of a second or two does not stand out in the mean. A
// cache that is over a trigger for alwaysOver of the time while operations evict is reported
// nevertheless.
const (
	coarseS    = 5.0
	alwaysOver = 0.8
)

// alwaysFull reports a cache that is over a trigger, with operations evicting, nearly all the time.
func alwaysFull(r rules.Rule, c *rules.Case, over timeline.Mask) (rules.Finding, bool) {
	known := timeline.Known(c.One(CacheFill))
	rate := c.One(AppEvictions)
	evict := timeline.Where(rate, func(x float64) bool { return x >= leastEvicted })
	if c.Stall.Any() || c.Grid.StepSeconds() < coarseS || rules.Share(over, known) < alwaysOver ||
		rules.Share(evict, known) < alwaysOver {
		return rules.Finding{}, false
	}

	f := r.Finding("wiredtiger cache")
	f.Weight, f.Severity = rules.Share(over, known), rules.Warning
	f.Foremost = true
	f.Windows = c.Windows(over)
	cacheLevels(c, &f)
	pages := timeline.Quantile(timeline.At(rate, over), 0.5)
	f.Say("always", rules.Values{"share": rules.Part(f.Weight), "pages": rules.Number(pages),
		"step": rules.Seconds(c.Grid.StepSeconds())})
	f.Evidence = append(f.Evidence,
		c.Figure("pages evicted by operations, median", AppEvictions, pages, "1/s", over))
	adviseCache(c, &f)

	return f, true
}

// cacheLevels adds how full and dirty the cache was, how much updates held, and which of these
// exceeded their triggers.
func cacheLevels(c *rules.Case, f *rules.Finding) {
	f.Say("levels", nil)
	reached := false

	var next rules.Value
	for _, t := range cacheTriggers {
		v := c.One(t.signal)
		high := timeline.Max(v)
		if timeline.Count(v) == 0 {
			continue
		}

		var over rules.Value

		// The server's setting if it reports one, otherwise the default.
		at, _ := t.level(c.Facts)
		if high >= at {
			over, reached = rules.Part(at), true
		}

		f.Say("level", rules.Values{"next": next, "high": rules.Part(high), "what": rules.Called(t.what),
			"over": over})
		next = rules.Called(t.what)
		f.Evidence = append(f.Evidence, c.Figure(t.text(at), t.signal, high, "ratio", timeline.Known(v)))
	}

	if !reached {
		f.Say("no trigger", nil)
	}
}
