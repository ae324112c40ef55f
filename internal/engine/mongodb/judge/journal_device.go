package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Each sync of the journal follows a write to it, so a device that completes far fewer writes than
// there are syncs does not hold the journal. Under minSyncs nothing is concluded.
const (
	writesPerSync = 0.5
	minSyncs      = 100.0
)

// mayHoldJournal reports whether the journal can be on a device, judged by the calm time under
// load.
func mayHoldJournal(c *rules.Case, device string) bool {
	syncs := c.One(LogSyncs)
	writes := c.For(rules.DiskWrites, "device", device)
	if syncs == nil || writes == nil {
		return true
	}
	calm := c.NotStalled().And(timeline.Known(writes)).And(timeline.Known(syncs))
	n := timeline.Sum(timeline.At(syncs, calm))
	return !(n*c.Grid.StepSeconds() >= minSyncs) || timeline.Sum(timeline.At(writes, calm)) >= writesPerSync*n
}

// journalApart finds a journal that is not on the device that writes most in the cells: which
// that is, and the one device the journal can be on, "" if several can or none is shown.
func journalApart(c *rules.Case, in timeline.Mask) (busiest, journal string, apart bool) {
	most := -1.0
	tracks := c.Signal(rules.DiskWritten)
	for _, t := range tracks {
		if s := timeline.Sum(timeline.At(t.Values, in)); s > most {
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
	full := timeline.Where(busy, func(x float64) bool { return x > 0.9 }).And(timeline.Where(queue, func(x float64) bool { return x > 2 }))
	share := rules.Share(full, on)
	f.Evidence = append(f.Evidence, c.Figure("share of the slow syncs' time in which "+journal+" was saturated", rules.DiskBusy, share, "ratio", on))
	f.Say("own device", rules.Values{"journal": rules.Called(journal), "busiest": rules.Called(busiest)})
	words := "own saturated"
	if share < rules.IdleSaturation {
		words = "own idle"
	}
	f.Say(words, rules.Values{"share": rules.Part(share)})
}
