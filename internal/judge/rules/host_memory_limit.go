package rules

import "plimsoll/internal/record/timeline"

// swapping is the rate of pages swapped out per second above which memory counts as short.
const swapping = 100.0

func hostMemoryLimit() Rule {
	r := Rule{ID: "host/memory-limit", Title: "Memory is short", Kind: Cause,
		When:  "plimsoll:psi_memory_full:ratio > 0.1 or plimsoll:swap_out:rate > 100",
		Needs: []*Signal{}, AnyOf: []*Signal{PSIMemoryFull, SwapOut},
		Cause: "The kernel reclaims or swaps memory that the database is using; this can stop every thread, and the reclaim itself writes to the disk. In a container, the container's limit applies, not the host's.",
		Words: Words{"short": "The host was short of memory in {{.share}} of the stalled time."},
		Advice: map[string]Advice{"cache": {Summary: "Set the database's cache explicitly below the host's or container's memory, with room for connections and page cache",
			Expect: "no reclaim under load", TradeOff: "more reads from the disk if the working set no longer fits",
			Do: []*Remedy{CacheWithin}}}}

	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		if len(held) == 0 {
			return nil
		}

		cells := timeline.Known(held[0].Values)
		f, ok := r.condition(c, "host", cells)
		if !ok {
			return nil
		}

		f.Say("short", Values{"share": Part(Share(cells, c.Stall.Cells))})
		for _, s := range []struct {
			signal     *Signal
			text, unit string
		}{
			{PSIMemoryFull, "share of the stalled time in which all tasks waited for memory (PSI), mean", "ratio"},
			{SwapOut, "pages swapped out while stalled, mean", "1/s"},
			{MemoryAvailable, "memory available while stalled, mean", "bytes"},
			{MemoryTotal, "memory of the host", "bytes"},
		} {
			if v := timeline.Mean(timeline.At(c.One(s.signal), c.Stall.Cells)); v == v {
				f.Evidence = append(f.Evidence, c.Figure(s.text, s.signal, v, s.unit, c.Stall.Cells))
			}
		}

		f.Advise("cache", nil)
		return []Finding{f}
	}

	return r
}
