package corerules

import (
	"plimsoll/internal/record/timeline"

	"plimsoll/internal/judge/rules"
)

func hostSwapping() rules.Rule {
	rule := rules.Rule{ID: "host/swapping", Title: "The database's memory is on the swap device", Kind: rules.Cause,
		When:  "plimsoll:swap_in:rate > 100",
		Cause: "Memory that was swapped out is read back page by page when it is accessed, and the accessing thread waits for each page. A cache that is partly swapped out causes disk reads that it is meant to avoid, and if swap and data are on one volume, they share its queue.",
		Words: rules.Words{
			"swapped": "On average, {{.rate}} pages per second were read back from swap in the stalled time, and more than 100 during {{.share}} of it.",
			"out":     "Meanwhile {{.out}} per second were swapped out: memory is short now.",
			"before":  "None were swapped out meanwhile: that happened earlier, when something else needed the memory.",
		},
		Advice: map[string]rules.Advice{
			"smaller": {Summary: "Set the database's cache so that it fits into the host's memory with everything else, and find out what else uses memory",
				Expect:    "no part of it is swapped out",
				TradeOff:  "more reads from the disk if the working set no longer fits",
				NoCommand: "only you know how large the working set is"},
			"tend": {Summary: "Set vm.swappiness=1 on a database's host",
				Expect: "the kernel drops page cache before it swaps the database out", TradeOff: "less page cache",
				NoCommand: "it prevents further swapping, but brings no page back"},
			"back": {Summary: "If memory is free again, bring all pages back in one go at a quiet hour: swapoff -a && swapon -a",
				Expect:    "the pages are read once, in order",
				TradeOff:  "it fails, or kills a process, if they do not fit",
				NoCommand: "only you know whether the memory stays free: if not, the kernel kills a process"},
		}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		if len(held) == 0 {
			return nil
		}

		cells := timeline.Known(held[0].Values)
		f, ok := rule.Condition(c, "host", cells)
		if !ok {
			return nil
		}

		in := timeline.Mean(timeline.At(c.One(rules.SwapIn), c.Stall.Cells))
		f.Say("swapped", rules.Values{"rate": rules.Number(in), "share": rules.Part(rules.Share(cells, c.Stall.Cells))})
		f.Evidence = append(f.Evidence,
			c.Figure("pages swapped in while stalled, mean", rules.SwapIn, in, "1/s", c.Stall.Cells))

		if out := timeline.Mean(timeline.At(c.One(rules.SwapOut), c.Stall.Cells)); out == out {
			f.Evidence = append(f.Evidence,
				c.Figure("pages swapped out while stalled, mean", rules.SwapOut, out, "1/s", c.Stall.Cells))
			if out > 1 {
				f.Say("out", rules.Values{"out": rules.Number(out)})
			} else {
				f.Say("before", nil)
				f.Advise("back", nil)
			}
		}

		f.Advise("smaller", nil)
		f.Advise("tend", nil)
		return []rules.Finding{f}
	}

	return rule
}
