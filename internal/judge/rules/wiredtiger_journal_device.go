package rules

import (
	"fmt"

	"plimsoll/internal/record/timeline"
)

// Each sync of the journal follows a write to it, so a device that completes far fewer writes than
// there are syncs does not hold the journal. Under minSyncs nothing is concluded.
const (
	writesPerSync = 0.5
	minSyncs      = 100.0
)

// mayHoldJournal reports whether the journal can be on a device, judged by the calm time under load.
func (c *Case) mayHoldJournal(device string) bool {
	syncs := c.One(SignalPrefix + "wt_log_syncs:rate")
	writes := c.For(SignalPrefix+"disk_writes:rate", "device", device)
	if syncs == nil || writes == nil {
		return true
	}
	calm := c.NotStalled().And(timeline.Known(writes)).And(timeline.Known(syncs))
	n := timeline.Sum(timeline.At(syncs, calm))
	return !(n*c.Grid.StepSeconds() >= minSyncs) || timeline.Sum(timeline.At(writes, calm)) >= writesPerSync*n
}

// journalApart tells of a journal that is not on the device that writes most in the cells: which
// that is, and the one device the journal can be on, "" if several can or none is shown.
func (c *Case) journalApart(in timeline.Mask) (busiest, journal string, apart bool) {
	most := -1.0
	tracks := c.Signal(SignalPrefix + "disk_written:bytes")
	for _, t := range tracks {
		if s := timeline.Sum(timeline.At(t.Values, in)); s > most {
			busiest, most = t.Labels.Get("device"), s
		}
	}
	if len(tracks) < 2 || c.mayHoldJournal(busiest) {
		return "", "", false
	}
	n := 0
	for _, t := range tracks {
		if d := t.Labels.Get("device"); c.mayHoldJournal(d) && c.For(SignalPrefix+"disk_writes:rate", "device", d) != nil {
			journal = d
			n++
		}
	}
	if n != 1 {
		journal = ""
	}
	return busiest, journal, true
}

// behindApart says what a journal waited behind that is not on the busiest device, and puts
// what may help in place of what has been done.
func (c *Case) behindApart(busiest, journal string, on timeline.Mask, f *Finding) string {
	f.Fixes = []Fix{{Summary: "The journal is on a volume of its own already: look at that volume's latency, and at the host's CPUs in these seconds",
		Expect: "what delays the sync is found", TradeOff: "none"}}
	if journal == "" {
		return fmt.Sprintf("The journal is not on %s, which wrote the most: that completes fewer writes than there are syncs. What it waited behind its own device's counters would tell.", busiest)
	}
	busy := c.For(SignalPrefix+"disk_busy:ratio", "device", journal)
	queue := c.For(SignalPrefix+"disk_queue:requests", "device", journal)
	full := timeline.Where(busy, func(x float64) bool { return x > 0.9 }).And(timeline.Where(queue, func(x float64) bool { return x > 2 }))
	share := Share(full, on)
	f.Evidence = append(f.Evidence, c.figure("share of the slow syncs' time in which "+journal+" was saturated", SignalPrefix+"disk_busy:ratio", share, "ratio", on))
	has := fmt.Sprintf("The journal has a device of its own, %s (%s completes fewer writes than there are syncs)", journal, busiest)
	if share < idleSaturation {
		return fmt.Sprintf("%s, which was saturated in only %s of it: it did not wait in a volume's queue. The volume itself answered late, or the host did (CPU).", has, pct(share))
	}
	return fmt.Sprintf("%s, which was saturated in %s of it.", has, pct(share))
}
