package corerules

import (
	"plimsoll/internal/record/timeline"

	"plimsoll/internal/judge/rules"
)

func hostMemoryLimit() rules.Rule {
	rule := rules.Rule{ID: "host/memory-limit", Title: "Memory is short", Kind: rules.Cause,
		When:  "plimsoll:psi_memory_full:ratio > 0.1 or plimsoll:swap_out:rate > 100",
		Needs: []*rules.Signal{}, AnyOf: []*rules.Signal{rules.PSIMemoryFull, rules.SwapOut},
		Cause: "The kernel reclaims or swaps memory that the database is using; this can stop every thread, and the reclaim itself writes to the disk. In a container, the container's limit applies, not the host's.",
		Words: rules.Words{"short": "The host was short of memory in {{.share}} of the stalled time."},
		Advice: map[string]rules.Advice{"cache": {Summary: "Set the database's cache explicitly below the host's or container's memory, with room for connections and page cache",
			Expect: "no reclaim under load", TradeOff: "more reads from the disk if the working set no longer fits",
			Do: []*rules.Remedy{rules.CacheWithin}}}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		if len(held) == 0 {
			return nil
		}

		cells := timeline.Known(held[0].Values)
		f, ok := rule.Condition(c, "host", cells)
		if !ok {
			return nil
		}

		f.Say("short", rules.Values{"share": rules.Part(rules.Share(cells, c.Stall.Cells))})
		for _, s := range []struct {
			signal     *rules.Signal
			text, unit string
		}{
			{rules.PSIMemoryFull, "share of the stalled time in which all tasks waited for memory (PSI), mean", "ratio"},
			{rules.SwapOut, "pages swapped out while stalled, mean", "1/s"},
			{rules.MemoryAvailable, "memory available while stalled, mean", "bytes"},
			{rules.MemoryTotal, "memory of the host", "bytes"},
		} {
			if v := timeline.Mean(timeline.At(c.One(s.signal), c.Stall.Cells)); v == v {
				f.Evidence = append(f.Evidence, c.Figure(s.text, s.signal, v, s.unit, c.Stall.Cells))
			}
		}

		f.Advise("cache", nil)
		return []rules.Finding{f}
	}

	return rule
}
