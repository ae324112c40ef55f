package judge

import (
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// minPageReadShare is the share of the stalled waiting above which reading pages is a cause.
const minPageReadShare = 0.15

// minWrites is the share of writes among a saturated device's requests above which reads wait for
// writes and not for each other.
const minWrites = 0.25

func pageReads() rules.Rule {
	rule := rules.Rule{ID: "wiredtiger/page-reads", Title: "Operations wait for pages to be read",
		Kind:  rules.Cause,
		When:  "plimsoll:wt_app_page_reads_time:ratio > 1",
		Cause: "An operation whose page is not in the cache reads it from the data files, and an update needs its page too. Such a read waits in the data volume's queue behind whatever is written there; moving the journal to its own volume does not help it.",
		Words: rules.Words{
			"read":      "Operations waited {{.waited}} longer than usual for pages that they read themselves, {{.share}} of the {{.of}} of stalled waiting{{with .each}}: {{.}} per page{{end}}{{with .calm}}, otherwise {{.}}{{end}}.",
			"saturated": "A device was saturated in {{.share}} of that time ({{.writes}} of its requests were writes): the reads waited in its queue.",
			"idle":      "No device was saturated meanwhile.",
		},
		Advice: map[string]rules.Advice{
			"writes": {Summary: "Keep the writes from filling the volume's queue: bounded dirty bytes, or the kernel's writeback throttling (see host/writeback-throttling and host/writeback-backlog)",
				Expect: "a read waits for only a few writes", TradeOff: "see those pages",
				Do: []*rules.Remedy{rules.BoundDirtyBytes}},
			"larger": {Summary: "Size the cache to hold the working set (average object size x hot documents + indexes), set explicitly and below the host's or container's memory",
				Expect: "fewer pages are read", TradeOff: "less page cache for the OS; larger checkpoints",
				NoCommand: "only you know how large the working set is; a cache larger than the free memory ends in an OOM kill"},
		}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		finding, said, ok := wait{"wiredtiger cache", AppPageReadsTime, ofAll, minPageReadShare,
			"time the stalled operations spent reading pages beyond the usual, summed"}.find(rule, input, held)
		if !ok {
			return nil
		}

		around := input.Stall.Cells.Widen(1, 1)
		said["each"], said["calm"] = "", ""

		// Total time over the number of pages: the mean of per-cell means would weight idle cells.
		each := func(m timeline.Mask) float64 {
			n := timeline.Sum(timeline.At(input.One(AppPageReads), m))
			return timeline.Sum(timeline.At(input.One(AppPageReadsTime), m)) / n
		}

		if n := timeline.Sum(timeline.At(input.One(AppPageReads), around)); n > 0 {
			said["each"] = rules.Seconds(each(around))
			if calm := input.NotStalled(); timeline.Sum(timeline.At(input.One(AppPageReads), calm)) > 0 {
				said["calm"] = rules.Seconds(each(calm))
			}
			finding.Evidence = slices.Insert(finding.Evidence, 0,
				input.Figure("pages read by operations in the stalled time", AppPageReads, n*input.Grid.StepSeconds(),
					"pages", around))
		}

		finding.Say("read", said)

		if sat, known := input.Saturated(); known {
			if in := rules.Share(sat, input.Stall.Cells); in >= minPageReadShare {
				// Throttling writes helps only if reads queue behind writes.
				writes := writesOfSaturated(input)
				finding.Say("saturated", rules.Values{"share": rules.Part(in), "writes": rules.Part(writes)})
				if writes >= minWrites {
					finding.Advise("writes", nil)
				}
			} else {
				finding.Say("idle", nil)
			}
		}

		finding.Advise("larger", nil)
		return []rules.Finding{finding}
	}

	return rule
}

// writesOfSaturated is the share of writes among the requests of the device that was busiest in the
// stalled time.
func writesOfSaturated(c *rules.Case) (share float64) {
	most := -1.0
	for _, t := range c.Signal(rules.DiskBusy) {
		device := t.Labels.Get("device")
		all := timeline.Sum(timeline.At(c.For(rules.DiskOps, "device", device), c.Stall.Cells))
		busy := timeline.Sum(timeline.At(t.Values, c.Stall.Cells))
		if writes := c.For(rules.DiskWrites, "device", device); busy > most && all > 0 && writes != nil {
			most, share = busy, timeline.Sum(timeline.At(writes, c.Stall.Cells))/all
		}
	}
	return share
}
