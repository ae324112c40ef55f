package corerules

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func containerMemoryLimit() rules.Rule {
	rule := rules.Rule{ID: "container/memory-limit", Title: "The container's memory limit binds",
		Kind: rules.Cause,
		When: "plimsoll:container_psi_memory_full:ratio > 0.1",
		Cause: "At memory.max every new page has to be reclaimed within the container first, and above memory.high each of its threads is put to sleep to reclaim pages. " +
			"The page cache counts towards the limit, and so do dirty pages: a writer waits until some have reached the disk. Meanwhile the host has memory to spare.",
		Words: rules.Words{
			"waited": "In {{.share}} of the stalled time all tasks of the container{{with .group}}'s parent cgroup {{.}}{{end}} waited for memory, on average for {{.mean}} of that time.",
			"used":   "It used {{.used}} of its limit of {{.limit}}.",
		},
		Advice: map[string]rules.Advice{
			"cache": {Summary: "Set the database's cache explicitly below the container's limit, with room for connections and for page cache{{.hints}}",
				Expect: "no reclaim under load", TradeOff: "more reads from the disk if the working set no longer fits",
				Do: []*rules.Remedy{rules.CacheWithin}},
			"raise": {Summary: "Raise the container's memory limit (Kubernetes: resources.limits.memory; systemd: MemoryMax=, MemoryHigh=)",
				Expect:   "the same, without a smaller cache",
				TradeOff: "it takes memory from the node",
				Do:       []*rules.Remedy{raiseMemory}},
		}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, track := range limitedMost(&input.Signals, held) {
			cells := timeline.Known(track.Values)
			finding, ok := rule.Condition(input, rules.ContainerName(track.Labels), cells)
			if !ok {
				continue
			}

			in := cells.And(input.Stall.Cells)
			finding.Say("waited", rules.Values{"group": input.GroupAbove(track.Labels), "share": rules.Part(rules.Share(cells, input.Stall.Cells)),
				"mean": rules.Part(timeline.Mean(timeline.At(input.OfContainer(rules.ContainerPSIMemoryFull, track), in)))})
			limit, used := timeline.Max(input.OfContainer(rules.ContainerMemoryLimit, track)),
				timeline.Max(timeline.At(input.OfContainer(rules.ContainerMemoryUsed, track), in))
			if limit == limit && used == used {
				finding.Say("used", rules.Values{"used": rules.Bytes(used), "limit": rules.Bytes(limit)})
			}

			input.AddFigure(&finding, "share of the stalled time in which all of its tasks waited for memory (PSI), mean",
				rules.ContainerPSIMemoryFull,
				timeline.Mean(timeline.At(input.OfContainer(rules.ContainerPSIMemoryFull, track), input.Stall.Cells)),
				"ratio",
				input.Stall.Cells)

			input.AddFigure(&finding, "limit of the container", rules.ContainerMemoryLimit, limit, "bytes",
				input.Stall.Observed)
			input.AddFigure(&finding, "peak memory use meanwhile, including page cache", rules.ContainerMemoryUsed, used, "bytes", in)
			input.AddFigure(&finding, "peak dirty page cache meanwhile", rules.ContainerMemoryDirty,
				timeline.Max(timeline.At(input.OfContainer(rules.ContainerMemoryDirty, track), in)), "bytes", in)
			input.AddFigure(&finding, "times per second it hit its limit while stalled, mean", rules.ContainerMemoryReclaims,
				timeline.Mean(timeline.At(input.OfContainer(rules.ContainerMemoryReclaims, track), input.Stall.Cells)),
				"1/s",
				input.Stall.Cells)
			input.AddFigure(&finding, "available memory of the host while stalled, mean", rules.MemoryAvailable,
				timeline.Mean(timeline.At(input.One(rules.MemoryAvailable), input.Stall.Cells)), "bytes",
				input.Stall.Cells)
			finding.Advise("cache", rules.Values{"hints": rules.Called(input.Pack.Hints(func(k rules.Knowledge) string { return k.CacheHint }))})
			finding.Advise("raise", nil)
			out = append(out, finding)
		}

		return out
	}

	return rule
}

// limitedMost drops groups that wait only because a parent or child is at its limit: of each chain
// of nested groups, the one with the lowest limit remains.
func limitedMost(sig *rules.Signals, held []timeline.Track) []timeline.Track {
	limit := func(t timeline.Track) float64 {
		if x := timeline.Max(sig.OfContainer(rules.ContainerMemoryLimit, t)); x == x {
			return x
		}
		// A group without a known limit never wins over one with a limit.
		return math.Inf(1)
	}

	within := func(a, b timeline.Track) bool {
		below, above := a.Labels.Get("id"), b.Labels.Get("id")
		return above != "" && strings.HasPrefix(below, above+"/")
	}

	var out []timeline.Track
	for _, t := range held {
		if !slices.ContainsFunc(held, func(o timeline.Track) bool {
			return within(t, o) && limit(o) < limit(t) || within(o, t) && limit(o) <= limit(t)
		}) {
			out = append(out, t)
		}
	}

	return out
}
