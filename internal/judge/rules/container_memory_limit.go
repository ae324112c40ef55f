package rules

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/record/timeline"
)

func containerMemoryLimit() Rule {
	r := Rule{ID: "container/memory-limit", Title: "The container's memory limit binds", Kind: Cause,
		When: "plimsoll:container_psi_memory_full:ratio > 0.1",
		Cause: "At memory.max every new page has to be reclaimed within the container first, and above memory.high each of its threads is put to sleep to reclaim pages. " +
			"The page cache counts towards the limit, and so do dirty pages: a writer waits until some have reached the disk. Meanwhile the host has memory to spare.",
		Words: Words{
			"waited": "In {{.share}} of the stalled time all tasks of the container{{with .group}}'s parent cgroup {{.}}{{end}} waited for memory, on average for {{.mean}} of that time.",
			"used":   "It used {{.used}} of its limit of {{.limit}}.",
		},
		Advice: map[string]Advice{
			"cache": {Summary: "Set the database's cache explicitly below the container's limit, with room for connections and for page cache{{.hints}}",
				Expect: "no reclaim under load", TradeOff: "more reads from the disk if the working set no longer fits",
				Do: []*Remedy{CacheWithin}},
			"raise": {Summary: "Raise the container's memory limit (Kubernetes: resources.limits.memory; systemd: MemoryMax=, MemoryHigh=)",
				Expect:   "the same, without a smaller cache",
				TradeOff: "it takes memory from the node",
				Do:       []*Remedy{raiseMemory}},
		}}

	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		for _, t := range c.limitedMost(held) {
			cells := timeline.Known(t.Values)
			f, ok := r.condition(c, containerName(t.Labels), cells)
			if !ok {
				continue
			}

			in := cells.And(c.Stall.Cells)
			f.Say("waited", Values{"group": c.groupAbove(t.Labels), "share": Part(Share(cells, c.Stall.Cells)),
				"mean": Part(timeline.Mean(timeline.At(c.ofContainer(ContainerPSIMemoryFull, t), in)))})
			limit, used := timeline.Max(c.ofContainer(ContainerMemoryLimit, t)),
				timeline.Max(timeline.At(c.ofContainer(ContainerMemoryUsed, t), in))
			if limit == limit && used == used {
				f.Say("used", Values{"used": Bytes(used), "limit": Bytes(limit)})
			}

			c.figureOf(&f, "share of the stalled time in which all of its tasks waited for memory (PSI), mean",
				ContainerPSIMemoryFull,
				timeline.Mean(timeline.At(c.ofContainer(ContainerPSIMemoryFull, t), c.Stall.Cells)), "ratio",
				c.Stall.Cells)

			c.figureOf(&f, "limit of the container", ContainerMemoryLimit, limit, "bytes", c.Stall.Observed)
			c.figureOf(&f, "peak memory use meanwhile, including page cache", ContainerMemoryUsed, used, "bytes", in)
			c.figureOf(&f, "peak dirty page cache meanwhile", ContainerMemoryDirty,
				timeline.Max(timeline.At(c.ofContainer(ContainerMemoryDirty, t), in)), "bytes", in)
			c.figureOf(&f, "times per second it hit its limit while stalled, mean", ContainerMemoryReclaims,
				timeline.Mean(timeline.At(c.ofContainer(ContainerMemoryReclaims, t), c.Stall.Cells)), "1/s",
				c.Stall.Cells)
			c.figureOf(&f, "available memory of the host while stalled, mean", MemoryAvailable,
				timeline.Mean(timeline.At(c.One(MemoryAvailable), c.Stall.Cells)), "bytes", c.Stall.Cells)
			f.Advise("cache", Values{"hints": Called(c.Pack.hints(func(k Knowledge) string { return k.CacheHint }))})
			f.Advise("raise", nil)
			out = append(out, f)
		}

		return out
	}

	return r
}

// limitedMost drops groups that wait only because a parent or child is at its limit: of each chain
// of nested groups, the one with the lowest limit remains.
func (sig *Signals) limitedMost(held []timeline.Track) []timeline.Track {
	limit := func(t timeline.Track) float64 {
		if x := timeline.Max(sig.ofContainer(ContainerMemoryLimit, t)); x == x {
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
