package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Each sync of the journal follows a write to it. So a device that completes far fewer writes than
// there are syncs, in total or in many intervals, does not hold the journal: a data device takes
// thousands of writes in a flush and none between two flushes. With fewer than minSyncs syncs or
// minSyncCells intervals, nothing is concluded.
const (
	writesPerSync = 0.5
	minSyncs      = 100.0
	minSyncCells  = 20
	syncsPerCell  = 5.0
	withoutWrites = 0.25 // of the intervals with syncs
)

// mayHoldJournal reports whether the journal may be on a device, judged by the calm time under
// load.
func mayHoldJournal(c *rules.Case, device string) bool {
	syncs := c.One(LogSyncs)
	writes := c.For(rules.DiskWrites, "device", device)
	if syncs == nil || writes == nil {
		return true
	}

	// During a stall the journal's syncs wait, so only calm time shows their normal ratio to
	// writes.
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
		// The clocks of two sources differ slightly, so the neighbouring cells count too.
		if timeline.Max(writes[max(0, k-1):min(len(writes), k+2)]) < writesPerSync*syncs[k] {
			without++
		}
	}

	return synced < minSyncCells || float64(without) < withoutWrites*float64(synced)
}

// apart reports whether the journal already has its own device.
func apart(c *rules.Case) bool {
	_, _, apart := journalApart(c)
	return apart
}

// From besideShare of the stalled waiting (or of the stalled time) on, writers wait for something
// other than the journal's sync.
const besideShare = 0.25

// alsoWaited names what else writers waited for in a good part of the stalled time. If the waiting for
// the cache was not measured, dirty pages or updates over their trigger stand in for it.
func alsoWaited(c *rules.Case) string {
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

// apartAdvice is to move the journal. The promised effect depends on what else writers wait for.
var apartAdvice = rules.Advice{
	Summary: "Give the journal its own volume (mounted at <dbPath>/journal)",
	Expect: "{{with .beside}}its fdatasync no longer waits behind data; the stall does not end, because writers also wait for {{.}} (a whole mongod 5.0.7, writeback throttling off: p99 10.8 s without, 3.1 s with a separate journal)" +
		"{{else}}its fdatasync no longer waits behind data; measured on the storage engine alone, a 3,000 IOPS volume: write p99 7.9 s to 4.7 ms. A whole mongod 5.0.7 with a separate journal had a p99 of 132 ms at 800 updates/s on gp3{{end}}",
	TradeOff: "one more small volume; snapshots of a single volume are no longer consistent; the checkpoint takes as long as before",
	Do:       []*rules.Remedy{rules.LogApart},
}

// adviseApart proposes a separate volume for the journal unless it already has one, or a secondary's applier
// is late: the applier does not wait for the journal.
func adviseApart(c *rules.Case, f *rules.Finding) {
	if c.Stall.Class != Applying && !apart(c) {
		f.Advise("apart", rules.Values{"beside": rules.Called(alsoWaited(c))})
	}
}

// journalApart detects a journal that is not on the busiest device, which holds the data. It
// returns the busiest device, and the device that holds the journal, or "" if several may hold it
// or none is visible.
func journalApart(c *rules.Case) (busiest, journal string, apart bool) {
	most := -1.0
	tracks := c.Signal(rules.DiskWritten)
	for _, t := range tracks {
		if s := timeline.Sum(t.Values); s > most {
			busiest, most = t.Labels.Get("device"), s
		}
	}

	// With a single device, or if the busiest one may hold the journal, there is no proof.
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

// behindApart adds what blocked a journal that is not on the busiest device.
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
