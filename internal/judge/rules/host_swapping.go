package rules

import "plimsoll/internal/record/timeline"

func hostSwapping() Rule {
	r := Rule{ID: "host/swapping", Title: "The database's memory is on the swap device", Kind: Cause,
		When:  "plimsoll:swap_in:rate > 100",
		Cause: "Memory that was swapped out is read back page by page when it is touched, and the thread that touched it waits for each. A cache that is partly swapped out costs a disk read where it promised none, and the swap device's queue is shared with the data's if both are on one volume.",
		Words: Words{
			"swapped": "{{.rate}} pages were read back from swap per second on average in the stalled time, over 100 in {{.share}} of it.",
			"out":     "{{.out}} per second were swapped out meanwhile: memory is short now.",
			"before":  "None were swapped out meanwhile: they had been before, by something that needed the memory then.",
		},
		Advice: map[string]Advice{
			"smaller": {Summary: "Set the database's cache so that it fits into the host's memory beside everything else, and find what else takes it",
				Expect:    "nothing of it is swapped out",
				TradeOff:  "more reads from the disk if the working set no longer fits",
				NoCommand: "how large the working set is, only you can say"},
			"tend": {Summary: "Set vm.swappiness=1 on a database's host",
				Expect: "the kernel drops page cache before it swaps the database out", TradeOff: "less page cache",
				NoCommand: "it keeps the next page from being swapped out and brings none back"},
			"back": {Summary: "If memory is free again, bring it back at once, at a quiet hour: swapoff -a && swapon -a",
				Expect:    "the pages are read once, in order",
				TradeOff:  "it fails, or kills a process, if they do not fit",
				NoCommand: "whether the memory stays free, only you can say: without it the kernel kills a process"},
		}}

	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		if len(held) == 0 {
			return nil
		}

		cells := timeline.Known(held[0].Values)
		f, ok := r.condition(c, "host", cells)
		if !ok {
			return nil
		}

		in := timeline.Mean(timeline.At(c.One(SwapIn), c.Stall.Cells))
		f.Say("swapped", Values{"rate": Number(in), "share": Part(Share(cells, c.Stall.Cells))})
		f.Evidence = append(f.Evidence,
			c.Figure("pages swapped in while stalled, mean", SwapIn, in, "1/s", c.Stall.Cells))

		if out := timeline.Mean(timeline.At(c.One(SwapOut), c.Stall.Cells)); out == out {
			f.Evidence = append(f.Evidence,
				c.Figure("pages swapped out while stalled, mean", SwapOut, out, "1/s", c.Stall.Cells))
			if out > 1 {
				f.Say("out", Values{"out": Number(out)})
			} else {
				f.Say("before", nil)
				f.Advise("back", nil)
			}
		}

		f.Advise("smaller", nil)
		f.Advise("tend", nil)
		return []Finding{f}
	}

	return r
}
