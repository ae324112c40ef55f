package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Each sync of the journal follows a write to it. So a device does not hold the journal if it
// completes far fewer writes than there are syncs, in all or in many of the intervals: a data
// device takes thousands of writes in a flush and none between two. Under minSyncs, or in fewer
// intervals than minSyncCells, nothing is concluded.
const (
	writesPerSync = 0.5
	minSyncs      = 100.0
	minSyncCells  = 20
	syncsPerCell  = 5.0
	withoutWrites = 0.25 // of the intervals with syncs
)

// mayHoldJournal reports whether the journal can be on a device, judged by the calm time under
// load.
func mayHoldJournal(c *rules.Case, device string) bool {
	syncs := c.One(LogSyncs)
	writes := c.For(rules.DiskWrites, "device", device)
	if syncs == nil || writes == nil {
		return true
	}

	step := c.Grid.StepSeconds()
	calm := c.NotStalled().And(timeline.Known(writes)).And(timeline.Known(syncs))
	n := timeline.Sum(timeline.At(syncs, calm))
	if !(n*step >= minSyncs) {
		return true
	}

	if timeline.Sum(timeline.At(writes, calm)) < writesPerSync*n {
		return false
	}

	synced, without := 0, 0
	for k, in := range calm {
		if !in || syncs[k]*step < syncsPerCell {
			continue
		}
		synced++
		// The clocks of two sources are not quite the same.
		if timeline.Max(writes[max(0, k-1):min(len(writes), k+2)]) < writesPerSync*syncs[k] {
			without++
		}
	}

	return synced < minSyncCells || float64(without) < withoutWrites*float64(synced)
}

// apart reports whether the journal has a device of its own already.
func apart(c *rules.Case) bool {
	_, _, apart := journalApart(c)
	return apart
}

// besideShare is the part of the stalled waiting, or of the stalled time, from which writers wait
// for something else than the journal's sync.
const besideShare = 0.25

// beside names what else writers waited for in a good part of the stalled time. Where the waiting
// for the cache was not measured, dirty pages or updates at their trigger have to do.
func beside(c *rules.Case) string {
	read, _, _, _ := ofAll(c, AppPageReadsTime)
	if read >= besideShare {
		return "pages to be read from the data's volume"
	}
	waited, _, _, known := ofAll(c, CacheWait)
	evicted, _, _, also := ofAll(c, AppEvictTime)
	full := max(waited, evicted) >= besideShare
	if !known && !also {
		full = rules.Share(overTrigger(c, dirtyTrigger, updatesTrigger), c.Stall.Cells) >= besideShare
	}
	if full {
		return "room in a cache full of dirty pages"
	}
	return ""
}

// apartAdvice is to move the journal. What it promises depends on what else writers wait for.
var apartAdvice = rules.Advice{
	Summary: "Give the journal a volume of its own (mounted at <dbPath>/journal)",
	Expect: "{{with .beside}}its fdatasync no longer waits behind data; the stall does not end with it, because writers also wait for {{.}} (a whole mongod 5.0.7, writeback throttling off: p99 10.8 s without, 3.1 s with a journal apart)" +
		"{{else}}its fdatasync no longer waits behind data; measured on the storage engine alone, a 3,000 IOPS volume: write p99 7.9 s to 4.7 ms. A whole mongod 5.0.7 that kept its journal apart had a p99 of 132 ms at 800 updates/s on gp3{{end}}",
	TradeOff: "one more small volume; snapshots of a single volume are no longer consistent; the checkpoint takes as long as before",
	Do:       []*rules.Remedy{rules.LogApart},
}

// adviseApart proposes a volume for the journal unless it has one.
func adviseApart(c *rules.Case, f *rules.Finding) {
	if !apart(c) {
		f.Advise("apart", rules.Values{"beside": rules.Called(beside(c))})
	}
}

// journalApart finds a journal that is not on the device that wrote most, the data's: which that
// is, and the one device the journal can be on, "" if several can or none is shown.
func journalApart(c *rules.Case) (busiest, journal string, apart bool) {
	most := -1.0
	tracks := c.Signal(rules.DiskWritten)
	for _, t := range tracks {
		if s := timeline.Sum(t.Values); s > most {
			busiest, most = t.Labels.Get("device"), s
		}
	}

	if len(tracks) < 2 || mayHoldJournal(c, busiest) {
		return "", "", false
	}

	n := 0
	for _, t := range tracks {
		if d := t.Labels.Get("device"); mayHoldJournal(c, d) && c.For(rules.DiskWrites, "device", d) != nil {
			journal = d
			n++
		}
	}

	if n != 1 {
		journal = ""
	}

	return busiest, journal, true
}

// behindApart adds what a journal waited behind that is not on the busiest device.
func behindApart(c *rules.Case, busiest, journal string, on timeline.Mask, f *rules.Finding) {
	if journal == "" {
		f.Say("elsewhere", rules.Values{"busiest": rules.Called(busiest)})
		return
	}

	busy := c.For(rules.DiskBusy, "device", journal)
	queue := c.For(rules.DiskQueue, "device", journal)
	full := timeline.Where(busy, func(x float64) bool { return x > 0.9 }).And(timeline.Where(queue,
		func(x float64) bool { return x > 2 }))
	share := rules.Share(full, on)
	f.Evidence = append(f.Evidence,
		c.Figure("share of the slow syncs' time in which "+journal+" was saturated", rules.DiskBusy, share,
			"ratio", on))
	f.Say("own device", rules.Values{"journal": rules.Called(journal), "busiest": rules.Called(busiest)})
	words := "own saturated"

	if share < rules.IdleSaturation {
		words = "own idle"
	}

	f.Say(words, rules.Values{"share": rules.Part(share)})
}
